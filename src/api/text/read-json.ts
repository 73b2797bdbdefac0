import {
  type ManifestContent,
  type ManifestEntry,
  ManifestLimitError,
  type ManifestNode,
  type ReaderWarning,
  ManifestSyntaxError,
  maxNestingDepth,
  warnOfRepeatedKey,
} from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';

/** Reads strict JSON (RFC 8259), keeping numbers as text, repeated keys, and the position of every value. */
export function readJson(text: string, budget: ReadingBudget): ManifestContent {
  const reader = new JsonReader(text, budget);
  const root = reader.readValue(0);
  reader.expectEnd();
  return { root, warnings: reader.warnings };
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const whitespacePattern = /[ \t\n\r]*/y;
// eslint-disable-next-line no-control-regex -- JSON forbids exactly these inside strings
const plainCharactersPattern = /[^"\\\u0000-\u001f]*/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class JsonReader {
  readonly warnings: ReaderWarning[] = [];
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly budget: ReadingBudget,
  ) {}

  readValue(depth: number): ManifestNode {
    this.skipWhitespace();
    const start = this.at;
    if (depth > maxNestingDepth) throw new ManifestLimitError('JSON is nested too deeply', start);
    this.budget.countValues(1, start);
    switch (this.text[start] ?? '') {
      case '{':
        return { start, kind: 'object', entries: this.readEntries(depth) };
      case '[':
        return { start, kind: 'list', items: this.readItems(depth) };
      case '"':
        return { start, kind: 'string', value: this.readString() };
      default:
        return this.readWord(start);
    }
  }

  private readWord(start: number): ManifestNode {
    if (this.accept('null')) return { start, kind: 'null' };
    if (this.accept('true')) return { start, kind: 'bool', value: true };
    if (this.accept('false')) return { start, kind: 'bool', value: false };
    const text = this.match(numberPattern);
    if (text === '') throw this.unexpected('a value');
    return { start, kind: 'number', text };
  }

  expectEnd(): void {
    this.skipWhitespace();
    if (this.at < this.text.length) {
      throw this.error(
        'There is more text after the end of the JSON object',
        'JSON holds one object; that can be a List of many.',
      );
    }
  }

  private readEntries(depth: number): ManifestEntry[] {
    const entries: ManifestEntry[] = [];
    const keys = new Set<string>();
    this.at++;
    this.skipWhitespace();
    if (this.accept('}')) return entries;
    do {
      this.skipWhitespace();
      const keyStart = this.at;
      if (this.text[keyStart] !== '"') throw this.unexpected('a key in double quotes');
      const key = this.readString();
      if (keys.has(key)) warnOfRepeatedKey(this.warnings, key, keyStart);
      keys.add(key);
      this.skipWhitespace();
      if (!this.accept(':')) throw this.unexpected('a colon');
      entries.push({ key, keyStart, value: this.readValue(depth + 1) });
      this.skipWhitespace();
    } while (this.accept(','));
    if (!this.accept('}')) throw this.unexpected('a comma or "}"');
    return entries;
  }

  private readItems(depth: number): ManifestNode[] {
    const items: ManifestNode[] = [];
    this.at++;
    this.skipWhitespace();
    if (this.accept(']')) return items;
    do {
      items.push(this.readValue(depth + 1));
      this.skipWhitespace();
    } while (this.accept(','));
    if (!this.accept(']')) throw this.unexpected('a comma or "]"');
    return items;
  }

  private readString(): string {
    this.at++;
    let value = '';
    for (;;) {
      value += this.match(plainCharactersPattern);
      if (this.accept('"')) return replaceLoneSurrogates(value);
      if (!this.accept('\\')) throw this.error('A string does not end, or holds a control character');
      value += this.readEscape();
    }
  }

  private readEscape(): string {
    const letter = this.text[this.at++] ?? '';
    const simple = escapes[letter];
    if (simple !== undefined) return simple;
    const digits = this.text.slice(this.at, this.at + 4);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) throw this.error('Invalid escape in a string');
    this.at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  private skipWhitespace(): void {
    this.match(whitespacePattern);
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const matched = pattern.exec(this.text)?.[0] ?? '';
    this.at += matched.length;
    return matched;
  }

  private accept(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private unexpected(expected: string): ManifestSyntaxError {
    const found = this.text[this.at];
    return this.error(
      `Expected ${expected}, found ${found === undefined ? 'the end of the text' : JSON.stringify(found)}`,
      'Text that starts with "{" is read as strict JSON: keys in double quotes, no comments, no trailing commas.',
    );
  }

  private error(message: string, hint?: string): ManifestSyntaxError {
    return new ManifestSyntaxError(message, Math.min(this.at, this.text.length), hint);
  }
}

/** Replaces lone surrogates with U+FFFD, as Go does. */
function replaceLoneSurrogates(value: string): string {
  return value.replaceAll(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, '\uFFFD');
}
