import { errorMessage, hasCode } from '../../../errors.ts';

/**
 * What a failed request says about the next one: `no answer` came, which may be over in a second; the server, or what
 * we know of it, `refused`; or it answered something that `is no manifest`, and another one may stand there any time;
 * or that `is a flood`: no manifest either, and costly to read.
 */
export type HTTPFailureKind = 'no answer' | 'refused' | 'is no manifest' | 'is a flood';

/** Why a URL gave no manifest, with what to do about it. Never carries credentials or a query. */
export class HTTPFailure extends Error {
  override readonly name = 'HTTPFailure';
  readonly kind: HTTPFailureKind;
  readonly hint: string;
  /** How long the server asks us to stay away. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: HTTPFailureKind,
    message: string,
    { hint, retryAfterMs, cause }: { hint: string; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause });
    this.kind = kind;
    this.hint = hint;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whatever a request threw, in words for the people who run the server or this machine. */
export function toHTTPFailure(thrown: unknown): HTTPFailure {
  // Both address families were tried.
  const error: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  if (error instanceof HTTPFailure) return error;
  const { message = messageOf(error), hint } = explanations.find(({ codes }) => hasCode(error, ...codes)) ?? {
    hint: isAlert(error) ? clientCertificateHint : 'It is asked again by itself.',
  };
  return new HTTPFailure('no answer', message, { hint, cause: thrown });
}

/** Why an answer with this status is none. kubelet: config/http.go extractFromURL takes 200 alone */
export function statusFailure(statusCode: number, retryAfterMs?: number): HTTPFailure {
  const hint = statusHints.get(statusCode) ?? (statusCode >= 500 ? serverHint : 'Only an answer of 200 is a manifest.');
  return new HTTPFailure('refused', `the server answered ${statusCode}`, { hint, retryAfterMs });
}

const serverHint = "Look into the server's log; it is asked again by itself.";
const credentialsHint =
  'Check what it asks for: --manifest-url-token-file, --manifest-url-header, --manifest-url-cert-file.';
const statusHints: ReadonlyMap<number, string> = new Map([
  [401, credentialsHint],
  [403, credentialsHint],
  [404, 'Check the path of the URL.'],
  [410, 'Check the path of the URL.'],
  [429, 'It is asked again by itself, less often.'],
]);

const clientCertificateHint =
  'The server wants another client certificate: --manifest-url-cert-file, --manifest-url-key-file.';

interface Explanation {
  codes: readonly string[];
  /** In place of the error's own. */
  message?: string;
  hint: string;
}

const explanations: readonly Explanation[] = [
  { codes: ['ECONNREFUSED'], hint: 'Check that the server runs, and the port.' },
  { codes: ['ENOTFOUND', 'EAI_AGAIN'], hint: 'Check the name of the server and the DNS of this machine.' },
  { codes: ['ENETUNREACH', 'EHOSTUNREACH', 'ETIMEDOUT'], hint: 'Check the network of this machine.' },
  {
    codes: ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'],
    message: 'the connection was cut before the answer was complete',
    hint: serverHint,
  },
  { codes: ['CERT_HAS_EXPIRED'], hint: "Renew the server's certificate, or set the clock of this machine." },
  { codes: ['CERT_NOT_YET_VALID'], hint: 'Set the clock of this machine.' },
  {
    codes: [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'CERT_SIGNATURE_FAILURE',
    ],
    hint: 'Name the authority that signed it with --manifest-url-ca-file.',
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    message: "the server's certificate is for another name",
    hint: 'Use the name of the certificate in the URL, or issue one for the name that is there.',
  },
  {
    codes: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
    message: 'the server does not speak TLS',
    hint: 'Check the port; http:// is without TLS.',
  },
  {
    codes: ['ERR_OSSL_X509_KEY_VALUES_MISMATCH'],
    message: 'the client certificate is of another key',
    hint: 'Give the key of --manifest-url-cert-file with --manifest-url-key-file.',
  },
  {
    codes: ['Z_DATA_ERROR', 'Z_BUF_ERROR'],
    message: 'the body is no complete gzip data, though the server says so',
    hint: serverHint,
  },
];

/** The server refused our side of the TLS handshake. */
function isAlert(error: unknown): boolean {
  return hasOpenSSLReason(error) && /alert.*(certificate|unknown ca|access denied)/.test(error.reason);
}

/** OpenSSL's own message is of file names and numbers. */
function messageOf(error: unknown): string {
  return hasOpenSSLReason(error) ? `TLS: ${error.reason}` : errorMessage(error);
}

function hasOpenSSLReason(error: unknown): error is Error & { reason: string } {
  return error instanceof Error && 'reason' in error && typeof error.reason === 'string' && 'library' in error;
}
