import { expect, test } from 'vitest';

const url = new URL('../../scripts/package/without-env-file.mjs', import.meta.url).href;
const { withoutEnvFile } = (await import(url)) as { withoutEnvFile: (node: Buffer, major: number) => Buffer };

const lengthOf = (text: string): string => String.fromCharCode(text.length, 0, 0, 0);

test.each([
  [20, 'lambda\0--env-file\0--env-file-if-exists\0end', 'lambda\0--\x01nv-file\0--\x01nv-file-if-exists\0end'],
  [
    24,
    '\0\0\0\0--env-file\0--env-file=\0--env-file-if-exists\0--env-file-if-exists=\0end',
    '\0\0\0\0--\x01nv-file\0--\x01nv-file=\0--\x01nv-file-if-exists\0--\x01nv-file-if-exists=\0end',
  ],
])('Node %d gets other names for its files of variables', (major, text, expected) => {
  // The snapshot and the source of Node's own modules.
  const kept = `'--env-file' ${lengthOf('--env-file')}--env-file\0`;
  expect(withoutEnvFile(Buffer.from(text + kept, 'latin1'), major).toString('latin1')).toBe(expected + kept);
});

test.each([
  [20, 'this Node does not have --env-file-if-exists'],
  [22, 'the executable is made with Node 20 or 24, not 22'],
  [26, 'the executable is made with Node 20 or 24, not 26'],
])('a Node %d in which they cannot be renamed is refused', (major, message) => {
  expect(() => withoutEnvFile(Buffer.from('\0--env-file\0'), major)).toThrow(message);
});
