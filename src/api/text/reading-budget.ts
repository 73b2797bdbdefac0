import { ManifestLimitError } from './manifest-node.ts';

/**
 * Texts with more lines are refused unread, because empty lines in quotes and block scalars take a hundred bytes of
 * memory each.
 */
export const maxManifestLines = 500_000;

/** Texts with more YAML tokens are refused. This many take half a second; no pod has a tenth of them. */
const maxYamlTokens = 500_000;

/** Texts with more values are refused. This many take a second to decode and validate. Copies made by aliases count. */
const maxManifestValues = 200_000;

/** Texts with more documents and list items are refused. No node runs a tenth of that many pods. */
export const maxManifestObjects = 5000;

/** Reading stops after this many broken documents, because each costs as much as ten good ones. */
export const maxBrokenDocuments = 100;

/** The limits on one manifest text, all its documents together. Exceeding one throws a ManifestLimitError. */
export class ReadingBudget {
  private tokens = maxYamlTokens;
  private values = maxManifestValues;

  /** Counts a YAML token. `start` is its offset. */
  countToken(start: number): void {
    if (--this.tokens < 0) throw exceeded(`The YAML has more than ${maxYamlTokens} words and marks`, start);
  }

  /** Counts values. `start` is the offset of the first. */
  countValues(count: number, start: number): void {
    this.values -= count;
    if (this.values < 0) throw exceeded(`The manifest has more than ${maxManifestValues} values`, start);
  }

  /** True once a limit was exceeded. */
  get isExhausted(): boolean {
    return this.tokens < 0 || this.values < 0;
  }
}

function exceeded(message: string, start: number): ManifestLimitError {
  return new ManifestLimitError(message, start, limitHint);
}

/** Hint for a text that exceeds a limit. */
export const limitHint = 'Is this a manifest? No pod is that large.';
