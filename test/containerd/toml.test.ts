import { expect, test } from 'vitest';
import { generateToml } from '../../src/containerd/toml.ts';

test('writes plain values before sections, and quotes keys that are not bare', () => {
  const toml = generateToml({
    section: { 'io.containerd.a': { inner: true }, 'bare-key_1': 1 },
    version: 2,
    names: ['a', 'b'],
  });
  expect(toml).toBe(
    'version = 2\nnames = ["a", "b"]\n\n[section]\nbare-key_1 = 1\n\n[section."io.containerd.a"]\ninner = true\n',
  );
});

test('escapes what a basic string may not hold', () => {
  expect(generateToml({ path: 'a"b\\c\nd\u007f\u0001é' })).toBe('path = "a\\"b\\\\c\\nd\\u007f\\u0001é"\n');
});
