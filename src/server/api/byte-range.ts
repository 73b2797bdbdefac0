import { parseInt64 } from '../../api/values/go-numbers.ts';

/** The first and the last byte of a range. An empty range has its last byte before its first. */
export interface ByteRange {
  first: number;
  last: number;
}

export const rangeLength = ({ first, last }: ByteRange): number => last - first + 1;

/**
 * The ranges that a `Range` header asks for. None stands for the whole file, and so do ranges that are longer in all.
 * kubelet: Go's net/http parseRange, serveContent
 */
export function byteRanges(header: string | undefined, size: number): ByteRange[] | 'malformed' | 'none fits' {
  if (header === undefined || header === '') return [];
  if (!header.startsWith('bytes=')) return 'malformed';
  const asked = header
    .slice('bytes='.length)
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const ranges = asked.map((text) => rangeOf(text, size));
  if (ranges.includes('malformed')) return 'malformed';
  const fitting = ranges.filter((range) => typeof range === 'object');
  if (fitting.length === 0) return asked.length === 0 || size === 0 ? [] : 'none fits';
  const length = fitting.reduce((sum, range) => sum + rangeLength(range), 0);
  return length > size ? [] : fitting;
}

function rangeOf(text: string, size: number): ByteRange | 'malformed' | 'none fits' {
  const [, from, to] = /^(\+?\d+)?\s*-\s*(\+?\d+)?$/.exec(text) ?? [];
  if ((from === undefined && to === undefined) || isTooLarge(from) || isTooLarge(to)) return 'malformed';
  if (from === undefined) return { first: size - Math.min(Number(to), size), last: size - 1 };
  const first = Number(from);
  if (first >= size) return 'none fits';
  if (to === undefined) return { first, last: size - 1 };
  const last = Math.min(Number(to), size - 1);
  return Number(to) < first ? 'malformed' : { first, last };
}

const isTooLarge = (digits: string | undefined): boolean =>
  digits !== undefined && typeof parseInt64(digits) === 'string';
