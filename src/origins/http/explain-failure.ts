import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { errorMessage } from '../../errors.ts';

/** Explains any request error to the operators of the server and of this machine. */
export function toOriginFailure(thrown: unknown): OriginFailure {
  // An AggregateError has one error per address family.
  const error: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  if (error instanceof OriginFailure) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const [, hint, message = messageOf(error)] = explanations.find(([codes]) => codes.test(code)) ?? unknown;
  return new OriginFailure('no answer', message, hint, { cause: thrown });
}

/** Returns the failure for a response with this status. kubelet: config/http.go extractFromURL accepts only 200 */
export function statusFailure(statusCode: number, retryAfterMs?: number): OriginFailure {
  const hint = statusHints.get(statusCode) ?? (statusCode >= 500 ? serverHint : 'Only an answer of 200 is a manifest.');
  return new OriginFailure('refused', `the server answered ${statusCode}`, hint, { retryAfterMs });
}

const serverHint = "Check the server's log. The request is repeated automatically.";
const credentialsHint =
  'Check the required credentials: --manifest-url-token-file, --manifest-url-header, --manifest-url-cert-file.';
const statusHints: ReadonlyMap<number, string> = new Map([
  [401, credentialsHint],
  [403, credentialsHint],
  [404, 'Check the path of the URL.'],
  [410, 'Check the path of the URL.'],
  [429, 'The request is repeated automatically, less often.'],
]);

/** The hint for some error codes, and a message that replaces the error's own. */
type Explanation = readonly [codes: RegExp, hint: string, message?: string];

const unknown: Explanation = [/^/, 'The request is repeated automatically.'];
const explanations: readonly Explanation[] = [
  [/^ECONNREFUSED$/, 'Check the port, and that the server runs.'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'Check the name of the server and the DNS of this machine.'],
  [/^(ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)$/, 'Check the network of this machine.'],
  [
    /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/,
    serverHint,
    'the connection was cut before the answer was complete',
  ],
  [/^CERT_HAS_EXPIRED$/, "Renew the server's certificate, or set the clock of this machine."],
  [/^CERT_NOT_YET_VALID$/, 'Set the clock of this machine.'],
  [
    /SELF_SIGNED_CERT|^UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)|^CERT_SIGNATURE_FAILURE$/,
    'Name the authority that signed it with --manifest-url-ca-file.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'Use the name of the certificate in the URL, or issue a certificate for the name in the URL.',
    "the server's certificate is for another name",
  ],
  [
    /^(EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    'Check the port; http:// is without TLS.',
    'the server does not speak TLS',
  ],
  [
    // The server refused our side of the TLS handshake.
    /^ERR_SSL_.*ALERT.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/,
    'The server requires another client certificate: --manifest-url-cert-file, --manifest-url-key-file.',
  ],
  [
    /^ERR_OSSL_X509_KEY_VALUES_MISMATCH$/,
    'Give the key of --manifest-url-cert-file with --manifest-url-key-file.',
    'the client certificate does not match its key',
  ],
  [/^HPE_HEADER_OVERFLOW$/, serverHint, 'the headers of the answer are too large'],
  [/^HPE_/, 'Check the port, and whether the URL begins with https://.', 'the server does not speak HTTP'],
  [/^Z_(DATA|BUF)_ERROR$/, serverHint, 'the body is not complete gzip data, although the server declares it as gzip'],
];

/** Returns OpenSSL's reason, because its message consists of file names and numbers. */
function messageOf(error: unknown): string {
  const isOpenSSL = error instanceof Error && 'library' in error && 'reason' in error;
  return isOpenSSL ? `TLS: ${String(error.reason)}` : errorMessage(error);
}
