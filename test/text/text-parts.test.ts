import { expect, test } from 'vitest';
import { TextParts } from '../../src/text/text-parts.ts';

const partBytes = 128 * 1024;

/** The parts of these texts, taken as they come. */
function partsOf(...texts: string[]): string[] {
  const page = new TextParts();
  const parts: string[] = [];
  const take = (): void => void parts.push(...Array.from(page.drain(), (part) => part.toString()));
  for (const text of texts) {
    page.add(text);
    take();
  }
  page.end();
  take();
  return parts;
}

test('texts fill a part to its last byte, whatever their letters take', () => {
  const rest = 'a'.repeat(partBytes - 10);
  expect(partsOf(rest, 'ä'.repeat(5), 'b')).toEqual([`${rest}${'ä'.repeat(5)}`, 'b']);
  expect(partsOf(rest, '\u20ac'.repeat(3), 'b', 'c')).toEqual([`${rest}\u20ac\u20ac\u20acb`, 'c']);
  expect(partsOf(rest, '\u{1f600}'.repeat(3))).toEqual([rest, '\u{1f600}'.repeat(3)]);
});

test('a text longer than a part is one', () => {
  const long = 'ä'.repeat(partBytes);
  expect(partsOf('a', long, 'b')).toEqual(['a', long, 'b']);
});
