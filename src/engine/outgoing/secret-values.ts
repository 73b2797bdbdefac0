import { CutValues } from './cut-values.ts';
import { NeedleIndex } from './needle-index.ts';
import { formsOf } from './secret-forms.ts';
import { partsOf, type SecretParts } from './secret-parts.ts';
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
  /** Of the last former values, if values are short-lived. */
  former: SecretParts | undefined;
}

interface Change {
  before: Source | undefined;
  now: Source;
}

/** Values to look for. */
class Wanted {
  readonly index: NeedleIndex;
  private cut: CutValues | undefined;

  constructor(readonly values: readonly string[]) {
    const encoded = shortest(values);
    const forms = new Set(values.flatMap((value) => (encoded.has(value) ? formsOf(value) : [value])));
    this.index = new NeedleIndex([...forms]);
  }

  /** Built when needed, because few texts are long. */
  get cutValues(): CutValues {
    this.cut ??= new CutValues(this.values);
    return this.cut;
  }
}

/**
 * Hides the values of Secrets and credentials in texts. Finds each value as it is, line by line, and in base64 at any
 * offset. Also finds it quoted as by Go and JSON, and escaped as in a URL. Of more values and lines than the limits,
 * the further ones are found by their beginnings. In a text that was cut, the end of one of these is not found.
 *
 * The work is about linear in the length of the text, for every text and all values.
 */
export class SecretValues {
  private readonly bySource = new Map<string, Source>();
  private retired: readonly string[] = [];
  private retiredBeginnings: readonly BeginningHash[] = [];
  private publicNames = new Map<string, ReadonlySet<string>>();
  /** All values and lines. Built when needed, as are the next. */
  private texts: readonly string[] | undefined;
  private beginnings: TextBeginnings | undefined;
  private wanted: Wanted | undefined;

  /** Replaces all values of a source. */
  set(source: string, values: Iterable<string | Uint8Array>): void {
    const change = this.changeOf(source, values);
    if (change === undefined) return;
    if (change.before !== undefined) this.retire(change.before.parts, change.now.parts);
    this.replace(source, change.now);
  }

  /** As `set`, for values that change all the time. Only the last former values stay hidden, and displace no others. */
  setShortLived(source: string, values: Iterable<string | Uint8Array>): void {
    const change = this.changeOf(source, values);
    if (change !== undefined) this.replace(source, { ...change.now, former: change.before?.parts });
  }

  /** Public names, such as those of containers and images. A value equal to one is not hidden. */
  setPublicNames(source: string, names: Iterable<string>): void {
    const set = new Set(names);
    if (isSame([...(this.publicNames.get(source) ?? [])], [...set])) return;
    this.publicNames.set(source, set);
    // Names of pods come and go, and hardly any is a value.
    if (this.wanted !== undefined && !isSame(this.wanted.values, this.wantedValues())) this.wanted = undefined;
  }

  /** The text with `<hidden>` in place of each value. */
  hide(text: string): string {
    this.wanted ??= new Wanted(this.wantedValues());
    this.beginnings ??= this.makeBeginnings();
    // All look at the whole text, because what one finds may be a part of what the other finds.
    const found = this.wanted.index.rangesIn(text);
    const further = this.beginnings.rangesIn(text, found);
    const cut = text.length < minCutLength ? [] : this.wanted.cutValues.rangesIn(text);
    return replaceRanges(text, [...found, ...further, ...cut], () => hidden);
  }

  /** Returns undefined if the source has these values. */
  private changeOf(source: string, values: Iterable<string | Uint8Array>): Change | undefined {
    const texts = [...new Set([...values].map(toText))];
    const before = this.bySource.get(source);
    if (isSame(before?.values ?? [], texts)) return undefined;
    return { before, now: { values: texts, parts: partsOf(texts), former: undefined } };
  }

  private replace(source: string, now: Source): void {
    this.bySource.set(source, now);
    this.texts = undefined;
    this.beginnings = undefined;
    this.wanted = undefined;
  }

  /** What to hide of all sources. */
  private allParts(): SecretParts[] {
    return [...this.bySource.values()].flatMap(({ parts, former }) => (former === undefined ? parts : [parts, former]));
  }

  private retire(before: SecretParts, now: SecretParts): void {
    const kept = new Set(now.texts);
    const gone = new Set(before.texts.filter((text) => !kept.has(text)));
    this.retired = newest([...this.retired.filter((text) => !gone.has(text)), ...gone]);
    this.retiredBeginnings = [...this.retiredBeginnings, ...before.beginnings].slice(-maxRetiredBeginnings);
  }

  private allTexts(): readonly string[] {
    this.texts ??= [...new Set([...this.allParts().flatMap(({ texts }) => texts), ...this.retired])];
    return this.texts;
  }

  private wantedValues(): string[] {
    const names = new Set([...this.publicNames.values()].flatMap((set) => [...set]));
    return this.allTexts()
      .slice(0, maxTexts)
      .filter((value) => !names.has(value));
  }

  private makeBeginnings(): TextBeginnings {
    const known = this.allParts().flatMap(({ beginnings }) => beginnings);
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
