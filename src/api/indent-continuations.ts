/** A YAML text whose continuation lines were indented, and the way back to offsets of the text as written. */
export interface IndentedText {
  text: string;
  toOriginalOffset: (offset: number) => number;
}

/**
 * The kubelet's YAML reader does not care how the lines inside quotes and brackets are indented; the parser used here
 * does. This indents every such line beyond the quote or bracket it belongs to, which changes no value. Undefined when
 * there is nothing to indent.
 */
export function indentContinuations(text: string): IndentedText | undefined {
  const scanner = new ContinuationScanner(text);
  scanner.scan();
  return scanner.insertions.length === 0 ? undefined : insertSpaces(text, scanner.insertions);
}

interface Insertion {
  /** Start of a line. */
  offset: number;
  spaces: number;
}

function insertSpaces(text: string, insertions: readonly Insertion[]): IndentedText {
  let indented = '';
  let copied = 0;
  for (const { offset, spaces } of insertions) {
    indented += text.slice(copied, offset) + ' '.repeat(spaces);
    copied = offset;
  }
  return {
    text: indented + text.slice(copied),
    toOriginalOffset: (offset) => {
      let inserted = 0;
      for (const insertion of insertions) {
        if (insertion.offset + inserted >= offset) break;
        inserted += Math.min(insertion.spaces, offset - insertion.offset - inserted);
      }
      return offset - inserted;
    },
  };
}

/** Finds the quotes and brackets of a text by the tokens YAML starts values with. Makes no judgement of the rest. */
class ContinuationScanner {
  readonly insertions: Insertion[] = [];
  readonly #text: string;
  #at = 0;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    while (this.#at < this.#text.length) {
      this.#lineStart = this.#at;
      this.#scanLine();
    }
  }

  /** One line of block style, or more when a value goes on. Leaves off behind a line break. */
  #scanLine(): void {
    const lineStart = this.#lineStart;
    for (;;) {
      this.#match(/[ \t]*(?:[-?:](?=[ \t\n]|$)[ \t]*|---(?=[ \t])[ \t]*|[&!][^ \t\n]*[ \t]+)*/y);
      const character = this.#text[this.#at];
      if (character === '"' || character === "'") this.#scanQuoted(this.#column());
      else if (character === '[' || character === '{') this.#scanFlow();
      else if (character === '|' || character === '>') {
        this.#skipBlockScalar(lineStart);
        return;
      } else if (character !== '#') this.#match(/(?:[^ \t\n:#]|:(?![ \t\n]|$)|(?<![ \t])#|[ \t]+(?!#|[ \t]))+/y);
      if (this.#match(/[ \t]*:(?=[ \t\n]|$)/y) === '') break;
    }
    this.#match(/[^\n]*\n?/y);
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
    const indent = /^[ ]*/.exec(this.#text.slice(lineStart, this.#at))?.[0].length ?? 0;
    this.#match(/[^\n]*\n?/y);
    this.#match(new RegExp(`(?:[ \\t]*\\n| {${indent + 1}}[^\\n]*\\n?)*`, 'y'));
  }

  #continueLine(column: number): void {
    this.#lineStart = this.#at + 1;
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
