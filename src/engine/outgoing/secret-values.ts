/** Shorter values are found everywhere by chance, and guessed at once. */
const minValueLength = 4;
/** Values below this length count only where they stand alone, without a letter or digit beside them. */
const minPartLength = 8;
/** Values that stopped being used and are hidden further on: texts that have them come later. */
const maxRetired = 1000;
/** A text of at least this length may have been cut in the middle of a value. */
const minCutLength = 1000;
const hidden = '<hidden>';
/** What no value is worth hiding for. */
const plainWords = new Set(['true', 'false', 'null', 'none']);

/** A text to look for. */
interface Needle {
  text: string;
  /** It counts only where it stands alone. */
  standsAlone?: RegExp;
}

/**
 * The values that no text may tell: of Secrets and of credentials. Each is looked for as it is, line by line, in base64 at
 * any offset, quoted as Go and JSON quote it, and as a part of a URL.
 */
export class SecretValues {
  private readonly bySource = new Map<string, readonly string[]>();
  private retired: string[] = [];
  private publicNames = new Map<string, ReadonlySet<string>>();
  /** Longest first: one may be a part of another. Made when it is needed. */
  private needles: readonly Needle[] | undefined;
  private values: readonly string[] = [];

  /** Takes all values of a source, in the place of those that it had before. */
  set(source: string, values: Iterable<string | Uint8Array>): void {
    const texts = [...new Set([...values].map(toText))].flatMap(partsOf);
    const before = this.bySource.get(source) ?? [];
    if (before.length === texts.length && before.every((text, index) => text === texts[index])) return;
    const gone = before.filter((text) => !texts.includes(text));
    this.retired = [...this.retired.filter((text) => !gone.includes(text)), ...gone].slice(-maxRetired);
    this.bySource.set(source, texts);
    this.needles = undefined;
  }

  /** Names that everybody sees, such as those of containers and images: a value that equals one is not looked for. */
  setPublicNames(source: string, names: Iterable<string>): void {
    this.publicNames.set(source, new Set(names));
    this.needles = undefined;
  }

  /** The text with `<hidden>` in the place of each value. */
  hide(text: string): string {
    this.needles ??= this.makeNeedles();
    let result = text;
    for (const needle of this.needles) {
      if (needle.text.length > result.length || !result.includes(needle.text)) continue;
      result =
        needle.standsAlone === undefined
          ? result.replaceAll(needle.text, hidden)
          : result.replaceAll(needle.standsAlone, hidden);
    }
    return result.length < minCutLength ? result : this.hideCut(result);
  }

  /** A text that was cut may begin or end in the middle of a value. */
  private hideCut(text: string): string {
    let result = text;
    for (const value of this.values) {
      const tail = cutAtEnd(result, value);
      if (tail > 0) result = `${result.slice(0, -tail)}${hidden}`;
      const head = cutAtStart(result, value);
      if (head > 0) result = `${hidden}${result.slice(head)}`;
    }
    return result;
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

/** Whole characters, whatever it was. */
const toText = (value: string | Uint8Array): string => Buffer.from(value).toString('utf8');

/** A value without the white space around it, its lines, and what a list of registries or another JSON object holds. */
function partsOf(value: string): string[] {
  const text = value.trim();
  const lines = text.includes('\n') ? text.split(/\r?\n/).map((line) => line.trim()) : [];
  const parts = [text, ...lines.filter((line) => line.length >= minPartLength), ...credentialsIn(text)];
  return parts.filter((part) => part.length >= minValueLength && !plainWords.has(part.toLowerCase()));
}

/** Fields of Docker's list of registries that tell something. */
const credentialFields = new Set(['auth', 'password', 'identitytoken', 'registrytoken']);

/** Passwords and tokens in the text of a Docker configuration; none when it is something else. */
function credentialsIn(text: string): string[] {
  if (!text.startsWith('{') || !text.includes('"auth')) return [];
  const found: string[] = [];
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (typeof value === 'string' && credentialFields.has(key.toLowerCase())) found.push(value, ...passwordIn(value));
      return value;
    });
  } catch {
    // No JSON: it is hidden as a whole and line by line.
  }
  return found;
}

/** The password of `auth`, which is the base64 of user and password. */
function passwordIn(auth: string): string[] {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  return text.includes(':') ? [text.slice(text.indexOf(':') + 1)] : [];
}

/** What a value looks like in a text. */
function formsOf(value: string): string[] {
  const quoted = JSON.stringify(value).slice(1, -1);
  return [value, quoted, JSON.stringify(quoted).slice(1, -1), encodeURIComponent(value), ...base64Forms(value)];
}

/** What base64 makes of it wherever it begins in a longer text, without the characters that its neighbours have a part in. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const from = offset === 0 ? 0 : offset + 1;
    const isWhole = (offset + bytes.length) % 3 === 0;
    return text.slice(from, isWhole ? undefined : -1);
  });
  const long = inner.filter((text) => text.length >= minPartLength);
  return [...long, ...long.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

function alone(text: string): RegExp {
  const literal = text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu');
}

/** How many characters at the end of the text are the beginning of a value, and not all of it; 0: too few. */
function cutAtEnd(text: string, value: string): number {
  const start = value.slice(0, minPartLength);
  const from = Math.max(0, text.length - value.length + 1);
  for (let at = text.indexOf(start, from); at >= 0; at = text.indexOf(start, at + 1)) {
    if (value.startsWith(text.slice(at))) return text.length - at;
  }
  return 0;
}

/** The same of its beginning and the end of a value. */
function cutAtStart(text: string, value: string): number {
  const end = value.slice(-minPartLength);
  for (let at = text.lastIndexOf(end, value.length - 1); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(end, at - 1)) {
    const length = at + end.length;
    if (length < value.length && value.endsWith(text.slice(0, length))) return length;
  }
  return 0;
}
