import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keyHelp, pageKeyHelp } from '../../src/tui/key-bindings.ts';

const page = readFileSync(new URL('../../docs/use/look-inside.md', import.meta.url), 'utf8');

test('docs/use/look-inside.md lists every key with its meaning', () => {
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const missing = [...keyHelp, ...pageKeyHelp].filter(
    ([keys, meaning]) => !rows.some(([, cell, text]) => cell === `\`${keys}\`` && text === meaning),
  );
  expect(missing).toEqual([]);
});
