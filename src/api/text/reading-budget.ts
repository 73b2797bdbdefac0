import { ManifestLimitError } from './manifest-node.ts';

/** More lines than this are refused unread: quotes and block scalars of empty lines cost a hundred bytes of memory a line. */
export const maxManifestLines = 500_000;

/** More YAML tokens than this are refused: that many take half a second, and no pod has a tenth of them. */
export const maxYamlTokens = 500_000;

/** More values than this are refused; that many take a second to decode and to validate. The copies of aliases count. */
export const maxManifestValues = 200_000;

/** More documents and items of lists than this are refused; no node runs a tenth of that many pods. */
export const maxManifestObjects = 5000;

/** Behind this many documents that cannot be read nothing is read any more: each of them costs as much as ten good ones. */
export const maxBrokenDocuments = 100;

/** What reading a manifest text may cost, all its documents together. Beyond that it throws a ManifestLimitError. */
export class ReadingBudget {
  #tokens = maxYamlTokens;
  #values = maxManifestValues;

  /** Counts one more YAML token, which stands at an offset. */
  countToken(start: number): void {
    if (--this.#tokens < 0) throw exceeded(`The YAML has more than ${maxYamlTokens} words and marks`, start);
  }

  /** Counts values that are read at an offset. */
  countValues(count: number, start: number): void {
    this.#values -= count;
    if (this.#values < 0) throw exceeded(`The manifest has more than ${maxManifestValues} values`, start);
  }

  /** Counts values if there are as many left; false when there are not. */
  takeValues(count: number): boolean {
    if (count > this.#values) return false;
    this.#values -= count;
    return true;
  }

  /** Whether more was asked for than there was. */
  get isExhausted(): boolean {
    return this.#tokens < 0 || this.#values < 0;
  }

  /** A budget of what is left, for a try that may fail. */
  copy(): ReadingBudget {
    const copy = new ReadingBudget();
    copy.#tokens = this.#tokens;
    copy.#values = this.#values;
    return copy;
  }
}

function exceeded(message: string, start: number): ManifestLimitError {
  return new ManifestLimitError(message, start, limitHint);
}

/** What to do about a text beyond any bound. */
export const limitHint = 'Is this a manifest? No pod is that large.';
