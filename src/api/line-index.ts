/** Finds lines and columns, both from 1, of offsets in a text. */
export class LineIndex {
  readonly #lineStarts: number[];

  constructor(text: string) {
    this.#lineStarts = [
      0,
      ...Array.from(text.matchAll(/\r\n|[\n\r\u0085]/g), (found) => found.index + found[0].length),
    ];
  }

  positionAt(offset: number): { line: number; column: number } {
    let first = 0;
    let last = this.#lineStarts.length - 1;
    while (first < last) {
      const middle = Math.ceil((first + last) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) first = middle;
      else last = middle - 1;
    }
    return { line: first + 1, column: offset - (this.#lineStarts[first] ?? 0) + 1 };
  }
}
