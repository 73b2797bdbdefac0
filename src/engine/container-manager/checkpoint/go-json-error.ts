import { goQuote } from '../../../api/values/go-quote.ts';

/**
 * Go's message for a text that is not JSON. Returns undefined for JSON. kubelet: encoding/json scanner.go
 *
 * The text is read byte by byte, as Go reads it.
 */
export function goJSONError(text: string): string | undefined {
  const scanner = new Scanner(Buffer.from(text).toString('latin1'));
  try {
    scanner.value();
    scanner.end();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}

/** Go's limit is 10,000; no state file is as deep as this one. */
const maxDepth = 1000;
const literals = ['true', 'false', 'null'];

class Scanner {
  private at = 0;
  private depth = 0;

  constructor(private readonly bytes: string) {}

  value(): void {
    const next = this.afterSpace();
    const literal = literals.find((word) => word.startsWith(next));
    if (next === '{') this.inside('object');
    else if (next === '[') this.inside('array');
    else if (next === '"') this.string();
    else if (/[-\d]/.test(next)) this.number();
    else if (literal !== undefined) this.literal(literal);
    else this.unexpected('looking for beginning of value');
  }

  end(): void {
    while (this.at < this.bytes.length) {
      if (!isSpace(this.current())) this.unexpected('after top-level value');
      this.at++;
    }
  }

  private inside(what: 'object' | 'array'): void {
    this.at++;
    if (++this.depth > maxDepth) throw new SyntaxError('exceeded max depth');
    this[what]();
    // The closing bracket.
    this.at++;
    this.depth--;
  }

  private object(): void {
    if (this.afterSpace() === '}') return;
    for (;;) {
      if (this.afterSpace() !== '"') this.unexpected('looking for beginning of object key string');
      this.string();
      if (this.afterSpace() !== ':') this.unexpected('after object key');
      this.at++;
      this.value();
      const next = this.afterSpace();
      if (next === '}') return;
      if (next !== ',') this.unexpected('after object key:value pair');
      this.at++;
    }
  }

  private array(): void {
    if (this.afterSpace() === ']') return;
    for (;;) {
      this.value();
      const next = this.afterSpace();
      if (next === ']') return;
      if (next !== ',') this.unexpected('after array element');
      this.at++;
    }
  }

  private string(): void {
    this.at++;
    for (;;) {
      const next = this.current();
      this.at++;
      if (next === '"') return;
      if (next === '\\') this.escape();
      else if (next < ' ') this.unexpected('in string literal', next);
    }
  }

  private escape(): void {
    const next = this.current();
    if (!'bfnrt\\/"u'.includes(next)) this.unexpected('in string escape code');
    this.at++;
    for (let digits = 0; next === 'u' && digits < 4; digits++) {
      if (!/[\da-f]/i.test(this.current())) this.unexpected(String.raw`in \u hexadecimal character escape`);
      this.at++;
    }
  }

  private number(): void {
    if (this.current() === '-') {
      this.at++;
      if (!/\d/.test(this.current())) this.unexpected('in numeric literal');
    }
    if (this.current() === '0') this.at++;
    else this.digits();
    if (this.bytes[this.at] === '.') {
      this.at++;
      if (!/\d/.test(this.current())) this.unexpected('after decimal point in numeric literal');
      this.digits();
    }
    if (/[eE]/.test(this.bytes[this.at] ?? '')) {
      this.at++;
      if (/[+-]/.test(this.current())) this.at++;
      if (!/\d/.test(this.current())) this.unexpected('in exponent of numeric literal');
      this.digits();
    }
  }

  private digits(): void {
    while (/\d/.test(this.bytes[this.at] ?? '')) this.at++;
  }

  private literal(word: string): void {
    this.at++;
    for (const letter of word.slice(1)) {
      if (this.current() !== letter) this.unexpected(`in literal ${word} (expecting '${letter}')`);
      this.at++;
    }
  }

  private afterSpace(): string {
    while (isSpace(this.current())) this.at++;
    return this.current();
  }

  /** The byte at the position. Throws at the end. */
  private current(): string {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new SyntaxError('unexpected end of JSON input');
    return byte;
  }

  private unexpected(where: string, byte = this.current()): never {
    throw new SyntaxError(`invalid character ${quoted(byte)} ${where}`);
  }
}

function isSpace(byte: string): boolean {
  return ' \t\r\n'.includes(byte);
}

/** kubelet: encoding/json scanner.go quoteChar */
function quoted(byte: string): string {
  if (byte === "'") return String.raw`'\''`;
  return `'${byte === '"' ? byte : goQuote(byte).slice(1, -1)}'`;
}
