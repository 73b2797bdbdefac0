import { NeedleIndex } from './needle-index.ts';
import { formsOf } from './secret-forms.ts';
import { partsOf, type SecretParts } from './secret-parts.ts';
import { minNeedleLength } from './stands-alone.ts';
import { beginningHash, type BeginningHash, TextBeginnings } from './text-beginnings.ts';
import { replaceRanges } from './text-ranges.ts';
import { toText } from './to-text.ts';

/** How many former values stay hidden, because texts with them may still come. */
const maxRetired = 1000;
const maxRetiredLength = 4 * 1024 * 1024;
const maxRetiredBeginnings = 100_000;
/** Values and lines that are looked for in every form. */
const maxTexts = 10_000;
/** Longest value that is looked for in base64, quoted and escaped, and the length of all of these. */
const maxEncodedLength = 64 * 1024;
const maxEncodedTotal = 1024 * 1024;
/** A text of at least this length may have been cut in the middle of a value. */
const minCutLength = 1000;
const hidden = '<hidden>';

/** Values of a source, and what to hide of them. */
interface Source {
  values: readonly string[];
  parts: SecretParts;
}

/** What to look for. */
interface Needles {
  index: NeedleIndex;
  /** A text that was cut may begin or end within one of these values. That part is hidden too. */
  values: readonly string[];
}

/**
 * Hides the values of Secrets and credentials in texts. Finds each value as it is, line by line, and in base64 at any
 * offset. Also finds it quoted as by Go and JSON, and escaped as in a URL. Of more values and lines than the limits,
 * the further ones are found by their beginnings. In a text that was cut, the end of one of these is not found.
 */
export class SecretValues {
  private readonly bySource = new Map<string, Source>();
  private retired: readonly string[] = [];
  private retiredBeginnings: readonly BeginningHash[] = [];
  private publicNames = new Map<string, ReadonlySet<string>>();
  /** Built when needed, as are the next. */
  private needles: Needles | undefined;
  private beginnings: TextBeginnings | undefined;

  /** Replaces all values of a source. */
  set(source: string, values: Iterable<string | Uint8Array>): void {
    const texts = [...new Set([...values].map(toText))];
    const before = this.bySource.get(source);
    if (isSame(before?.values ?? [], texts)) return;
    const parts = partsOf(texts);
    if (before !== undefined) this.retire(before.parts, parts);
    this.bySource.set(source, { values: texts, parts });
    this.needles = undefined;
    this.beginnings = undefined;
  }

  /** Public names, such as those of containers and images. A value equal to one is not hidden. */
  setPublicNames(source: string, names: Iterable<string>): void {
    const set = new Set(names);
    if (isSame([...(this.publicNames.get(source) ?? [])], [...set])) return;
    this.publicNames.set(source, set);
    this.needles = undefined;
  }

  /** The text with `<hidden>` in place of each value. */
  hide(text: string): string {
    this.needles ??= this.makeNeedles();
    this.beginnings ??= this.makeBeginnings();
    const { index, values } = this.needles;
    const found = index.rangesIn(text);
    // Both look at the whole text, because what one finds may be a part of what the other finds.
    const further = this.beginnings.rangesIn(text, found);
    const result = replaceRanges(text, [...found, ...further], () => hidden);
    return text.length < minCutLength ? result : hideCut(result, values);
  }

  private retire(before: SecretParts, now: SecretParts): void {
    const kept = new Set(now.texts);
    const gone = new Set(before.texts.filter((text) => !kept.has(text)));
    this.retired = newest([...this.retired.filter((text) => !gone.has(text)), ...gone]);
    this.retiredBeginnings = [...this.retiredBeginnings, ...before.beginnings].slice(-maxRetiredBeginnings);
  }

  private allTexts(): string[] {
    return [...new Set([...[...this.bySource.values()].flatMap(({ parts }) => parts.texts), ...this.retired])];
  }

  private makeNeedles(): Needles {
    const names = new Set([...this.publicNames.values()].flatMap((set) => [...set]));
    const values = this.allTexts()
      .slice(0, maxTexts)
      .filter((value) => !names.has(value));
    const encoded = shortest(values);
    const forms = new Set(values.flatMap((value) => (encoded.has(value) ? formsOf(value) : [value])));
    return { index: new NeedleIndex([...forms]), values: values.filter((value) => value.length > minNeedleLength) };
  }

  private makeBeginnings(): TextBeginnings {
    const known = [...this.bySource.values()].flatMap(({ parts }) => parts.beginnings);
    const further = this.allTexts()
      .slice(maxTexts)
      .map((text) => beginningHash(text));
    return new TextBeginnings(known.concat(this.retiredBeginnings, further));
  }
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

/** The newest of these, which come last. */
function newest(texts: readonly string[]): string[] {
  let length = 0;
  const isBeyond = (text: string): boolean => (length += text.length) > maxRetiredLength;
  const first = texts.findLastIndex(isBeyond) + 1;
  return texts.slice(Math.max(first, texts.length - maxRetired));
}

/** The values that are looked for in every form. */
function shortest(values: readonly string[]): Set<string> {
  let total = 0;
  const isWithin = ({ length }: string): boolean => length <= maxEncodedLength && (total += length) <= maxEncodedTotal;
  return new Set([...values].sort((a, b) => a.length - b.length).filter(isWithin));
}

/** Hides the part of a value at the start or end of a text that was cut. */
function hideCut(text: string, values: readonly string[]): string {
  let result = text;
  for (const value of values) {
    const tail = cutAtEnd(result, value);
    if (tail > 0) result = `${result.slice(0, -tail)}${hidden}`;
    const head = cutAtStart(result, value);
    if (head > 0) result = `${hidden}${result.slice(head)}`;
  }
  return result;
}

/** Length of a value's beginning at the end of the text. Returns 0 if it is too short or absent. */
function cutAtEnd(text: string, value: string): number {
  const start = value.slice(0, minNeedleLength);
  const from = Math.max(0, text.length - value.length + 1);
  for (let at = text.indexOf(start, from); at >= 0; at = text.indexOf(start, at + 1)) {
    if (value.startsWith(text.slice(at))) return text.length - at;
  }
  return 0;
}

/** Length of a value's end at the beginning of the text. Returns 0 if it is too short or absent. */
function cutAtStart(text: string, value: string): number {
  const end = value.slice(-minNeedleLength);
  for (let at = text.lastIndexOf(end, value.length - 1); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(end, at - 1)) {
    const length = at + end.length;
    if (length < value.length && value.endsWith(text.slice(0, length))) return length;
  }
  return 0;
}
