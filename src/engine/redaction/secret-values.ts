import { toText } from './secret-forms.ts';
import { partsOf, type SecretParts } from './secret-parts.ts';
import { ValueSearch } from './value-search.ts';

/** Limits what is searched for: the shortest values come first, then lines. */
const maxSearched = { count: 10_000, length: 2 * 1024 * 1024 };
/** How many former values stay redacted, because texts with them may still arrive. */
const maxRetired = { count: 1000, length: 2 * 1024 * 1024 };
const hidden = '<hidden>';

interface Source {
  texts: readonly string[];
  parts: readonly SecretParts[];
  /** The most recent former values, if values are short-lived. */
  former: readonly SecretParts[];
}

/**
 * Redacts the values of Secrets and credentials in texts. Finds each value verbatim, line by line, in base64 at any
 * offset, quoted as by Go and JSON, and escaped as in a URL. The number and size of the values are bounded.
 */
export class SecretValues {
  private readonly bySource = new Map<string, Source>();
  private readonly publicNames = new Map<string, ReadonlySet<string>>();
  /** The newest first. */
  private retired: readonly string[] = [];
  /** Created on first use. */
  private search: ValueSearch | undefined;

  /** Replaces all values of a source. */
  set(source: string, values: Iterable<string | Uint8Array>): void {
    const before = this.replace(source, values, false);
    if (before === undefined) return;
    const kept = new Set(this.bySource.get(source)?.parts.flatMap(textsOf));
    const removed = before.parts.flatMap(textsOf).filter((text) => !kept.has(text));
    this.retired = within(new Set([...removed, ...this.retired]), maxRetired);
  }

  /**
   * Like `set`, for values that change all the time. Only their most recent former values stay redacted, and they
   * displace no others.
   */
  setShortLived(source: string, values: Iterable<string | Uint8Array>): void {
    this.replace(source, values, true);
  }

  /** Sets public names, such as those of containers and images. A value that equals one of them is not redacted. */
  setPublicNames(source: string, names: Iterable<string>): void {
    this.publicNames.set(source, new Set(names));
  }

  /** Returns the text with `<hidden>` instead of each value. */
  hide(text: string): string {
    this.search ??= new ValueSearch(within(this.allTexts(), maxSearched));
    const isPublic = (value: string): boolean => [...this.publicNames.values()].some((names) => names.has(value));
    let result = '';
    let end = 0;
    for (const { from, to } of this.search.rangesIn(text, isPublic)) {
      result += text.slice(end, from) + hidden;
      end = to;
    }
    return result + text.slice(end);
  }

  /**
   * Replaces the values and returns the source as it was before. Returns undefined if the values are unchanged, or the
   * first.
   */
  private replace(source: string, values: Iterable<string | Uint8Array>, isShortLived: boolean): Source | undefined {
    const texts = [...new Set(Array.from(values, toText))];
    const before = this.bySource.get(source);
    if (before?.texts.length === texts.length && texts.every((text, index) => text === before.texts[index])) {
      return undefined;
    }
    this.bySource.set(source, { texts, parts: texts.map(partsOf), former: isShortLived ? (before?.parts ?? []) : [] });
    this.search = undefined;
    return before;
  }

  private allTexts(): Set<string> {
    const parts = [...this.bySource.values()].flatMap(({ parts: now, former }) => [...now, ...former]);
    const values = parts.flatMap((part) => part.values).sort((a, b) => a.length - b.length);
    return new Set([...values, ...this.retired, ...parts.flatMap(({ lines }) => lines)]);
  }
}

const textsOf = ({ values, lines }: SecretParts): string[] => [...values, ...lines];

/** Returns the first of these texts, up to a number of texts and of characters. Skips a text that does not fit. */
function within(texts: Iterable<string>, max: { count: number; length: number }): string[] {
  let left = max.length;
  return [...texts].slice(0, max.count).filter(({ length }) => {
    if (length > left) return false;
    left -= length;
    return true;
  });
}
