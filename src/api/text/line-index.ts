/** Maps offsets in a text to lines and columns, both from 1. The index is built at the first look-up. */
export class LineIndex {
  private lineStarts: readonly number[] | undefined;

  constructor(private readonly text: string) {}

  positionAt(offset: number): { line: number; column: number } {
    this.lineStarts ??= findLineStarts(this.text);
    let first = 0;
    let last = this.lineStarts.length - 1;
    while (first < last) {
      const middle = Math.ceil((first + last) / 2);
      if ((this.lineStarts[middle] ?? 0) <= offset) first = middle;
      else last = middle - 1;
    }
    return { line: first + 1, column: offset - (this.lineStarts[first] ?? 0) + 1 };
  }
}

function findLineStarts(text: string): number[] {
  const starts = [0];
  if (text.includes('\r')) {
    for (const { 0: lineBreak, index } of text.matchAll(/\r\n|[\n\r]/g)) starts.push(index + lineBreak.length);
  } else {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  }
  return starts;
}
