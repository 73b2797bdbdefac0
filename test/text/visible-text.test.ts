import { expect, test } from 'vitest';
import { printable, visible, visibleJSON, visibleLines } from '../../src/text/visible-text.ts';

const hostile = 'a\u001b[31mred\r\nERROR\tforged \u0007\u009b2J\u2028x\u202eexe.\u2066y\u007f\0';

test('control characters are shown and not sent to the terminal', () => {
  expect(visible(hostile)).toBe(String.raw`a\x1b[31mred\r\nERROR\tforged \x07\x9b2J\u2028x\u202eexe.\u2066y\x7f\x00`);
  expect(visibleLines(hostile)).toBe(
    String.raw`a\x1b[31mred\r` + '\n' + 'ERROR\t' + String.raw`forged \x07\x9b2J\u2028x\u202eexe.\u2066y\x7f\x00`,
  );
});

test('makes one harmless line of any text', () => {
  expect(printable('a\r\nb\tc \u001b[2Jd\u202ee')).toBe(String.raw`a b c \x1b[2Jd\u202ee`);
});

test('what people write stays as it is', () => {
  const text = 'größe 😀 👩‍👩‍👧 עברית “quoted” C:\\path\\new';
  expect([visible(text), visibleLines(text), visibleJSON(JSON.stringify(text))]).toEqual([
    text,
    text,
    JSON.stringify(text),
  ]);
});

test('JSON says the same without any of them', () => {
  const json = visibleJSON(JSON.stringify({ [hostile]: hostile }));
  expect(JSON.parse(json)).toEqual({ [hostile]: hostile });
  expect(visible(json)).toBe(json);
});
