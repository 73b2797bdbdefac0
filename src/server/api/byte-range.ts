/** Bytes of a file, both included. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * The range that a `Range` header asks for. Returns undefined for the whole file, and so for several ranges. kubelet:
 * Go's net/http parseRange
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'malformed' | 'none fits' | undefined {
  if (header === undefined || header === '') return undefined;
  if (!header.startsWith('bytes=')) return 'malformed';
  const asked = header
    .slice('bytes='.length)
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const ranges = asked.map((text) => rangeOf(text, size));
  if (ranges.includes('malformed')) return 'malformed';
  const fitting = ranges.filter((range) => typeof range === 'object');
  if (fitting.length === 0) return asked.length === 0 || size === 0 ? undefined : 'none fits';
  return fitting.length === 1 ? fitting[0] : undefined;
}

function rangeOf(text: string, size: number): ByteRange | 'malformed' | 'none fits' {
  const [, from, to] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'malformed';
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'none fits' : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (first >= size) return 'none fits';
  if (to === '') return { first, last: size - 1 };
  const last = Math.min(Number(to), size - 1);
  return Number(to) < first ? 'malformed' : { first, last };
}
