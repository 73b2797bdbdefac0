import { errorMessage } from '../../../errors.ts';

/**
 * Kind of a failed request, which sets the time of the next one. `no answer`: may be over in a second. `refused`: by
 * the server, or by our own checks. `is no manifest`: the answer may be replaced at any time. `is a flood`: no manifest
 * either, and costly to read.
 */
export type OriginFailureKind = 'no answer' | 'refused' | 'is no manifest' | 'is a flood';

/** Why an origin returned no manifest, with a hint. Never contains credentials or a query. */
export class OriginFailure extends Error {
  override readonly name = 'OriginFailure';
  readonly kind: OriginFailureKind;
  readonly hint: string;
  /** Wait that the server demands. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: OriginFailureKind,
    message: string,
    hint: string,
    more: Partial<Pick<OriginFailure, 'retryAfterMs' | 'cause'>> = {},
  ) {
    super(message, { cause: more.cause });
    this.kind = kind;
    this.hint = hint;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** The error itself if it is an OriginFailure. Any other error means that there was no answer. */
export function asOriginFailure(error: unknown): OriginFailure {
  if (error instanceof OriginFailure) return error;
  const hint = 'The request is repeated automatically.';
  return new OriginFailure('no answer', errorMessage(error), hint, { cause: error });
}
