import { formsOf } from '../../../src/engine/outgoing/secret-forms.ts';
import { toText } from '../../../src/engine/outgoing/to-text.ts';

/** Shorter values match elsewhere by chance, and are quickly guessed anyway. */
const minValueLength = 4;
/** Shorter values match only without a letter or digit beside them. */
const minPartLength = 8;
/** How many former values stay hidden, because texts with them may still come. */
const maxRetired = 1000;
/** A text of at least this length may have been cut in the middle of a value. */
const minCutLength = 1000;
const hidden = '<hidden>';
/** Stand for the first and for each further character of a part that is hidden. */
const firstMark = '\ue000';
const furtherMark = '\ue001';
/** Values that are too common to hide. */
const plainWords = new Set(['true', 'false', 'null', 'none']);

/** A text to look for. */
interface Needle {
  text: string;
  /** Set for a short text, which matches only where it stands alone. */
  standsAlone?: RegExp;
}

/**
 * The plain way of `SecretValues`, value after value, to compare results with. Hides the values of Secrets and
 * credentials in texts. Finds each value as it is, line by line, and in base64 at any
 * offset. Also finds it quoted as by Go and JSON, and escaped as in a URL.
 */
export class PlainSecretValues {
  private readonly bySource = new Map<string, readonly string[]>();
  private retired: string[] = [];
  private publicNames = new Map<string, ReadonlySet<string>>();
  /** Longest first, because one may be a part of another. Built when needed. */
  private needles: readonly Needle[] | undefined;
  private values: readonly string[] = [];

  /** Replaces all values of a source. */
  set(source: string, values: Iterable<string | Uint8Array>): void {
    const texts = [...new Set([...values].map(toText))].flatMap(partsOf);
    const before = this.bySource.get(source) ?? [];
    if (before.length === texts.length && before.every((text, index) => text === texts[index])) return;
    const gone = before.filter((text) => !texts.includes(text));
    this.retired = [...this.retired.filter((text) => !gone.includes(text)), ...gone].slice(-maxRetired);
    this.bySource.set(source, texts);
    this.needles = undefined;
  }

  /** Public names, such as those of containers and images. A value equal to one is not hidden. */
  setPublicNames(source: string, names: Iterable<string>): void {
    this.publicNames.set(source, new Set(names));
    this.needles = undefined;
  }

  /** The text with `<hidden>` in place of each value. */
  hide(text: string): string {
    this.needles ??= this.makeNeedles();
    let result = text;
    for (const needle of this.needles) {
      if (needle.text.length > result.length || !result.includes(needle.text)) continue;
      result = result.replaceAll(needle.standsAlone ?? needle.text, (found) => marks(found.length));
    }
    if (text.length >= minCutLength) result = this.markCut(text, result);
    return result.replaceAll(new RegExp(`${firstMark}${furtherMark}*`, 'g'), hidden);
  }

  /** Marks the longest part of a value at the start and the end of the text. */
  private markCut(text: string, result: string): string {
    const longest = (lengthOf: (text: string, value: string) => number): number =>
      this.values.reduce((length, value) => Math.max(length, lengthOf(text, value)), 0);
    const tail = longest(cutAtEnd);
    const head = longest(cutAtStart);
    let marked = result;
    if (tail > 0) {
      const from = text.length - tail;
      // What begins before the part and goes on in it becomes one with it.
      marked = marked.slice(0, from) + (marked[from] === furtherMark ? furtherMark.repeat(tail) : marks(tail));
    }
    return head > 0 ? marks(head) + marked.slice(head) : marked;
  }

  private makeNeedles(): Needle[] {
    const names = new Set([...this.publicNames.values()].flatMap((set) => [...set]));
    const all = new Set([...[...this.bySource.values()].flat(), ...this.retired]);
    this.values = [...all].filter((value) => !names.has(value));
    const texts = new Set(this.values.flatMap(formsOf));
    this.values = this.values.filter((value) => value.length > minPartLength);
    return [...texts]
      .sort((a, b) => b.length - a.length)
      .map((text) => (text.length >= minPartLength ? { text } : { text, standsAlone: alone(text) }));
  }
}

const marks = (length: number): string => firstMark + furtherMark.repeat(length - 1);

/** The value without surrounding white space, its lines, and the credentials in it if it is a Docker configuration. */
function partsOf(value: string): string[] {
  const text = value.trim();
  const lines = text.includes('\n') ? text.split(/\r?\n/).map((line) => line.trim()) : [];
  const parts = [text, ...lines.filter((line) => line.length >= minPartLength), ...credentialsIn(text)];
  return parts.filter((part) => part.length >= minValueLength && !plainWords.has(part.toLowerCase()));
}

/** Secret fields of a Docker configuration. */
const credentialFields = new Set(['auth', 'password', 'identitytoken', 'registrytoken']);

/** Passwords and tokens in a Docker configuration. Empty for any other text. */
function credentialsIn(text: string): string[] {
  if (!text.startsWith('{') || !text.includes('"auth')) return [];
  const found: string[] = [];
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (typeof value === 'string' && credentialFields.has(key.toLowerCase())) found.push(value, ...passwordIn(value));
      return value;
    });
  } catch {
    // Not JSON, so it is hidden as a whole and by line.
  }
  return found;
}

/** The password in `auth`, the base64 of user and password. */
function passwordIn(auth: string): string[] {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  return text.includes(':') ? [text.slice(text.indexOf(':') + 1)] : [];
}

function alone(text: string): RegExp {
  const literal = text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu');
}

/** Length of a value's beginning at the end of the text. Returns 0 if it is too short or absent. */
function cutAtEnd(text: string, value: string): number {
  const start = value.slice(0, minPartLength);
  const from = Math.max(0, text.length - value.length + 1);
  for (let at = text.indexOf(start, from); at >= 0; at = text.indexOf(start, at + 1)) {
    if (value.startsWith(text.slice(at))) return text.length - at;
  }
  return 0;
}

/** Length of a value's end at the beginning of the text. Returns 0 if it is too short or absent. */
function cutAtStart(text: string, value: string): number {
  const end = value.slice(-minPartLength);
  for (let at = text.lastIndexOf(end, value.length - 1); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(end, at - 1)) {
    const length = at + end.length;
    if (length < value.length && value.endsWith(text.slice(0, length))) return length;
  }
  return 0;
}
