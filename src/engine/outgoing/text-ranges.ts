/** A part of a text, from one place up to another. */
export interface TextRange {
  from: number;
  to: number;
}

/** The text with a replacement in place of each range. Ranges that overlap get one. */
export function replaceRanges(
  text: string,
  ranges: readonly TextRange[],
  replacementOf: (length: number) => string,
): string {
  let result = '';
  let end = 0;
  for (const { from, to } of mergeOverlapping(ranges)) {
    result += text.slice(end, from) + replacementOf(to - from);
    end = to;
  }
  return result + text.slice(end);
}

/** In the order of the text. Ranges that only touch stay apart. */
function mergeOverlapping(ranges: readonly TextRange[]): TextRange[] {
  const merged: TextRange[] = [];
  for (const { from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || from >= last.to) merged.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return merged;
}
