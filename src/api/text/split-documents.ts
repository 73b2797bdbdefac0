/** Offsets of one document of a YAML text, with the `---` and the directives that begin it. */
export interface DocumentRange {
  start: number;
  end: number;
}

/**
 * The documents of a YAML text; those without so much as a `---` and a comment are left out. A `---` or `...` at the start
 * of a line is a document marker wherever it stands: YAML allows none inside quotes, brackets and block scalars.
 */
export function* splitDocuments(text: string): Generator<DocumentRange> {
  let start = 0;
  for (const { 0: marker, index } of text.matchAll(markerPattern)) {
    // Comments and directives above the marker belong to what follows.
    if (marker === '---' && !hasContent(text.slice(start, index))) continue;
    if (hasContent(text.slice(start, index))) yield { start, end: index };
    start = marker === '---' ? index : index + marker.length;
  }
  if (hasContent(text.slice(start))) yield { start, end: text.length };
}

const markerPattern = /(?<=^|[\n\r\u0085])(?:---|\.\.\.)(?=[ \t\n\r\u0085]|$)/g;

/** Anything but blank lines, comments and directives. */
function hasContent(text: string): boolean {
  return /^(?!%)[ \t]*[^# \t\n\r]/m.test(text);
}
