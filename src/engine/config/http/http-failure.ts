import { errorMessage } from '../../../errors.ts';

/**
 * Kind of a failed request, which sets the time of the next one. `no answer`: may be over in a second. `refused`: by
 * the server, or by our own checks. `is no manifest`: the answer may be replaced at any time. `is a flood`: no manifest
 * either, and costly to read.
 */
export type HTTPFailureKind = 'no answer' | 'refused' | 'is no manifest' | 'is a flood';

/** Why an origin returned no manifest, with a hint. Never contains credentials or a query. */
export class HTTPFailure extends Error {
  override readonly name = 'HTTPFailure';
  readonly kind: HTTPFailureKind;
  readonly hint: string;
  /** Wait that the server demands. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: HTTPFailureKind,
    message: string,
    hint: string,
    more: Partial<Pick<HTTPFailure, 'retryAfterMs' | 'cause'>> = {},
  ) {
    super(message, { cause: more.cause });
    this.kind = kind;
    this.hint = hint;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** The error itself if it is an HTTPFailure. Any other error means that there was no answer. */
export function asHTTPFailure(error: unknown): HTTPFailure {
  if (error instanceof HTTPFailure) return error;
  const hint = 'The request is repeated automatically.';
  return new HTTPFailure('no answer', errorMessage(error), hint, { cause: error });
}
