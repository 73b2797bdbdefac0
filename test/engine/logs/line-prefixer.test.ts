import { expect, test } from 'vitest';
import { LinePrefixer } from '../../../src/engine/logs/line-prefixer.ts';

test('a prefix is put before whole lines only', () => {
  const lines = new LinePrefixer('> ');
  const add = (text: string): string => lines.add(Buffer.from(text)).toString();
  expect([add('a\nb'), add('c'), add('\n\nd'), lines.rest().toString()]).toEqual(['> a\n', '', '> bc\n> \n', '> d']);
});

test('a line without an end is not held back for ever', () => {
  const lines = new LinePrefixer('> ');
  const part = Buffer.alloc(16 * 1024, 'a');
  const shown = Array.from({ length: 17 }, () => lines.add(part).length);
  expect(shown).toEqual([...Array.from({ length: 16 }, () => 0), '> '.length + 17 * part.length + 1]);
  expect(lines.rest()).toEqual(Buffer.alloc(0));
});

test.each([
  ['é', 1],
  ['€', 1],
  ['€', 2],
  ['😀', 1],
  ['😀', 2],
  ['😀', 3],
])('a line without an end is not cut within a character: %s after %d bytes', (character, bytes) => {
  const lines = new LinePrefixer('> ');
  const start = Buffer.from(character).subarray(0, bytes);
  const long = lines.add(Buffer.concat([Buffer.from(character.repeat(140_000)), start]));
  const rest = lines.add(Buffer.concat([Buffer.from(character).subarray(bytes), Buffer.from('\n')]));
  expect([long.toString(), rest.toString()]).toEqual([`> ${character.repeat(140_000)}\n`, `> ${character}\n`]);
});

test('does not buffer a line without an end that is not UTF-8 forever', () => {
  const bytes = Buffer.alloc(270_000, 0x80);
  expect(new LinePrefixer('').add(bytes)).toEqual(Buffer.concat([bytes, Buffer.from('\n')]));
});

test('what is held back does not change with the buffer of the caller', () => {
  const lines = new LinePrefixer('');
  const buffer = Buffer.from('ab');
  lines.add(buffer);
  buffer.fill('x');
  expect(lines.add(Buffer.from('\n')).toString()).toBe('ab\n');
});

test('a guard changes each line, also the last one', () => {
  const lines = new LinePrefixer('> ', { guard: (line) => Buffer.from(line.toString().toUpperCase()) });
  expect([lines.add(Buffer.from('a\nb')).toString(), lines.rest().toString()]).toEqual(['> A\n', '> B']);
});
