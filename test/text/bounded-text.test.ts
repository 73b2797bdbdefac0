import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedText, firstBytes, splitMark } from '../../src/text/bounded-text.ts';

test.each([
  { text: 'short', maxBytes: 5, bounded: 'short' },
  { text: 'longer', maxBytes: 5, bounded: 'longe … 1 bytes left out' },
  { text: 'größe', maxBytes: 3, bounded: 'gr … 5 bytes left out' },
  { text: '😀😀', maxBytes: 7, bounded: '😀 … 4 bytes left out' },
  { text: '', maxBytes: 0, bounded: '' },
])('"$text" of $maxBytes bytes is "$bounded"', ({ text, maxBytes, bounded }) => {
  expect(boundedText(text, maxBytes)).toBe(bounded);
});

test('what was left out before counts too', () => {
  expect(boundedText('longer', 5, 100)).toBe('longe … 101 bytes left out');
  expect(boundedText('short', 5, 100)).toBe('short … 100 bytes left out');
  expect(boundedText(boundedText('x'.repeat(100), 50), 10)).toBe(`${'x'.repeat(10)} … 90 bytes left out`);
  expect(splitMark('longe … 101 bytes left out')).toEqual({ whole: 'longe', mark: ' … 101 bytes left out' });
});

const text = fc.array(fc.constantFrom('a', 'ö', '€', '😀', '\n')).map((characters) => characters.join(''));

test('what is kept is a beginning of whole characters that fits and could not be longer', () => {
  fc.assert(
    fc.property(text, fc.nat(60), (text, maxBytes) => {
      const kept = firstBytes(text, maxBytes);
      const next = Array.from(text.slice(kept.length))[0] ?? '';
      expect(text.startsWith(kept)).toBe(true);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(maxBytes);
      expect(next === '' || Buffer.byteLength(kept + next) > maxBytes).toBe(true);
    }),
  );
});
