import { errorMessage } from '../../../errors.ts';

/**
 * Kind of a failed request, which sets the time of the next one. `no answer`: may be over in a second. `refused`: by
 * the server, or by our own checks. `is no manifest`: the server may replace its answer at any time. `is a flood`: not
 * a manifest either, and costly to read.
 */
export type OriginFailureKind = 'no answer' | 'refused' | 'is no manifest' | 'is a flood';

/** Why an origin returned no manifest, with a hint. Never contains credentials or a query. */
export class OriginFailure extends Error {
  override readonly name = 'OriginFailure';
  /** How long the server asks us to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly kind: OriginFailureKind,
    message: string,
    readonly hint: string,
    more: Partial<Pick<OriginFailure, 'retryAfterMs' | 'cause'>> = {},
  ) {
    super(message, { cause: more.cause });
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** Returns the error itself if it is an OriginFailure. Any other error counts as no answer. */
export function asOriginFailure(error: unknown): OriginFailure {
  if (error instanceof OriginFailure) return error;
  const hint = 'The request is repeated automatically.';
  return new OriginFailure('no answer', errorMessage(error), hint, { cause: error });
}
