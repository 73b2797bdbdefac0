/** A YAML text with indented continuation lines, and the mapping back to the original offsets. */
export interface IndentedText {
  text: string;
  /** Offset in the original text of the first quote or bracket with indented lines. */
  start: number;
  toOriginalOffset: (offset: number) => number;
}

/**
 * Indents every continuation line beyond its quote or bracket, which changes no value. The kubelet's YAML reader
 * accepts any indentation inside quotes and brackets; the parser used here does not. Returns undefined if there is
 * nothing to indent.
 */
export function indentContinuations(text: string): IndentedText | undefined {
  const scanner = new ContinuationScanner(text);
  scanner.scan();
  const { insertions, start } = scanner;
  const length = insertions.reduce((sum, { spaces }) => sum + spaces, text.length);
  if (insertions.length === 0 || length > maxIndentedLength) return undefined;
  return { text: insertSpaces(text, insertions), start, toOriginalOffset: wayBack(insertions) };
}

/** Bounds memory: many lines inside a bracket far to the right would grow enormously. */
const maxIndentedLength = 20 * 1024 * 1024;

interface Insertion {
  /** Offset of the start of a line. */
  offset: number;
  spaces: number;
}

function insertSpaces(text: string, insertions: readonly Insertion[]): string {
  let indented = '';
  let copied = 0;
  for (const { offset, spaces } of insertions) {
    indented += text.slice(copied, offset) + ' '.repeat(spaces);
    copied = offset;
  }
  return indented + text.slice(copied);
}

/** Maps an offset in the text with insertions to the original text. */
function wayBack(insertions: readonly Insertion[]): (offset: number) => number {
  let inserted = 0;
  const before = insertions.map(({ offset, spaces }) => {
    const start = offset + inserted;
    inserted += spaces;
    return { start, inserted: inserted - spaces, spaces };
  });
  return (offset) => {
    let first = 0;
    let last = before.length;
    while (first < last) {
      const middle = (first + last) >> 1;
      if ((before[middle]?.start ?? 0) < offset) first = middle + 1;
      else last = middle;
    }
    const insertion = before[first - 1];
    if (!insertion) return offset;
    return offset - insertion.inserted - Math.min(insertion.spaces, offset - insertion.start);
  };
}

/** Finds quotes and brackets by the tokens that start YAML values. Does not judge the rest of the text. */
class ContinuationScanner {
  readonly insertions: Insertion[] = [];
  /** The first quote or bracket with insertions. */
  start = 0;
  readonly #text: string;
  #at = 0;
  #lineStart = 0;
  /** The quote or bracket that is being read. */
  #opening = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    while (this.#at < this.#text.length) {
      this.#lineStart = this.#at;
      this.#scanLine();
    }
  }

  /** Scans a line of block style, and further lines if its value continues. Stops after a line break. */
  #scanLine(): void {
    const lineStart = this.#lineStart;
    for (;;) {
      this.#match(/[ \t]*/y);
      while (this.#match(/(?:[-?:](?=[ \t\n]|$)|---(?=[ \t])|[&!][^ \t\n]*(?=[ \t]))[ \t]*/y) !== '');
      const character = this.#text[this.#at];
      this.#opening = this.#at;
      if (character === '"' || character === "'") this.#scanQuoted(this.#column());
      else if (character === '[' || character === '{') this.#scanFlow();
      else if (character === '|' || character === '>') {
        this.#skipBlockScalar(lineStart);
        return;
      } else if (character !== '#') this.#skipPlain();
      if (this.#match(/[ \t]*:(?=[ \t\n]|$)/y) === '') break;
    }
    this.#match(/[^\n]*\n?/y);
  }

  /** A plain text ends with its line, before a comment, or where it turns out to be a key. */
  #skipPlain(): void {
    const end = /:(?=[ \t\n]|$)|(?<=[ \t])#|\n/g;
    end.lastIndex = this.#at;
    this.#at = end.exec(this.#text)?.index ?? this.#text.length;
  }

  #scanQuoted(column: number): void {
    const quote = this.#text[this.#at++];
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (character === '\n') this.#continueLine(column);
      else if (character === '\\' && quote === '"' && this.#text[this.#at + 1] !== '\n') this.#at++;
      else if (character === quote) {
        if (quote === '"' || this.#text[this.#at + 1] !== quote) break;
        this.#at++;
      }
    }
    this.#at++;
  }

  #scanFlow(): void {
    const column = this.#column();
    let depth = 0;
    do {
      const character = this.#text[this.#at] ?? '';
      const isFirst = /[\s[{,:]/.test(this.#text[this.#at - 1] ?? ' ');
      if (isFirst && (character === '"' || character === "'")) {
        this.#scanQuoted(column);
        continue;
      }
      if (isFirst && character === '#') this.#match(/[^\n]*/y);
      if (this.#text[this.#at] === '\n') this.#continueLine(column);
      if (character === '[' || character === '{') depth++;
      if (character === ']' || character === '}') depth--;
      this.#at++;
    } while (depth > 0 && this.#at < this.#text.length);
  }

  #skipBlockScalar(lineStart: number): void {
    const indent = this.#indentAt(lineStart);
    this.#match(/[^\n]*\n?/y);
    while (this.#at < this.#text.length && (this.#indentAt(this.#at) > indent || this.#isAtBlankLine())) {
      this.#match(/[^\n]*\n?/y);
    }
  }

  #indentAt(lineStart: number): number {
    let at = lineStart;
    while (this.#text[at] === ' ') at++;
    return at - lineStart;
  }

  #isAtBlankLine(): boolean {
    const blank = /[ \t]*\n/y;
    blank.lastIndex = this.#at;
    return blank.test(this.#text);
  }

  #continueLine(column: number): void {
    this.#lineStart = this.#at + 1;
    if (this.insertions.length === 0) this.start = this.#opening;
    this.insertions.push({ offset: this.#lineStart, spaces: column + 1 });
  }

  #column(): number {
    return this.#at - this.#lineStart;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const matched = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += matched.length;
    return matched;
  }
}
