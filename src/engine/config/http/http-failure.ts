import { errorMessage, hasCode } from '../../../errors.ts';

/**
 * Kind of a failed request, which sets the time of the next one. `no answer`: may be over in a second. `refused`: by
 * the server, or by our own checks. `is no manifest`: the answer may be replaced at any time. `is a flood`: no manifest
 * either, and costly to read.
 */
export type HTTPFailureKind = 'no answer' | 'refused' | 'is no manifest' | 'is a flood';

/** Why a URL returned no manifest, with a hint. Never contains credentials or a query. */
export class HTTPFailure extends Error {
  override readonly name = 'HTTPFailure';
  readonly kind: HTTPFailureKind;
  readonly hint: string;
  /** Wait that the server demands. */
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

/** Explains any error of a request to the operators of the server and of this machine. */
export function toHTTPFailure(thrown: unknown): HTTPFailure {
  // An AggregateError has one error for each address family.
  const error: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  if (error instanceof HTTPFailure) return error;
  const { message = messageOf(error), hint } = explanations.find(({ codes }) => hasCode(error, ...codes)) ?? {
    hint: isAlert(error) ? clientCertificateHint : 'The request is repeated automatically.',
  };
  return new HTTPFailure('no answer', message, { hint, cause: thrown });
}

/** The failure of an answer with this status. kubelet: config/http.go extractFromURL accepts only 200 */
export function statusFailure(statusCode: number, retryAfterMs?: number): HTTPFailure {
  const hint = statusHints.get(statusCode) ?? (statusCode >= 500 ? serverHint : 'Only an answer of 200 is a manifest.');
  return new HTTPFailure('refused', `the server answered ${statusCode}`, { hint, retryAfterMs });
}

const serverHint = "Look into the server's log. The request is repeated automatically.";
const credentialsHint =
  'Check the required credentials: --manifest-url-token-file, --manifest-url-header, --manifest-url-cert-file.';
const statusHints: ReadonlyMap<number, string> = new Map([
  [401, credentialsHint],
  [403, credentialsHint],
  [404, 'Check the path of the URL.'],
  [410, 'Check the path of the URL.'],
  [429, 'The request is repeated automatically, less often.'],
]);

const clientCertificateHint =
  'The server requires another client certificate: --manifest-url-cert-file, --manifest-url-key-file.';

interface Explanation {
  codes: readonly string[];
  /** Replaces the message of the error. */
  message?: string;
  hint: string;
}

const explanations: readonly Explanation[] = [
  { codes: ['ECONNREFUSED'], hint: 'Check the port, and that the server runs.' },
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
    hint: 'Use the name of the certificate in the URL, or issue a certificate for the name in the URL.',
  },
  {
    codes: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
    message: 'the server does not speak TLS',
    hint: 'Check the port; http:// is without TLS.',
  },
  {
    codes: ['ERR_OSSL_X509_KEY_VALUES_MISMATCH'],
    message: 'the client certificate does not match its key',
    hint: 'Give the key of --manifest-url-cert-file with --manifest-url-key-file.',
  },
  {
    codes: ['Z_DATA_ERROR', 'Z_BUF_ERROR'],
    message: 'the body is not complete gzip data, although the server declares it as gzip',
    hint: serverHint,
  },
];

/** The server refused our side of the TLS handshake. */
function isAlert(error: unknown): boolean {
  return hasOpenSSLReason(error) && /alert.*(certificate|unknown ca|access denied)/.test(error.reason);
}

/** Uses the reason of OpenSSL, because its message consists of file names and numbers. */
function messageOf(error: unknown): string {
  return hasOpenSSLReason(error) ? `TLS: ${error.reason}` : errorMessage(error);
}

function hasOpenSSLReason(error: unknown): error is Error & { reason: string } {
  return error instanceof Error && 'reason' in error && typeof error.reason === 'string' && 'library' in error;
}
