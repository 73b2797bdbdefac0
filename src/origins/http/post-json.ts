import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { parseRetryAfter } from '../../engine/config/polled/next-check-delay.ts';
import type { ManifestProblem } from '../../engine/view/events.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import { toOriginFailure } from './explain-failure.ts';
import { readCredentials } from './http-credentials.ts';
import { sendRequest } from './http-request.ts';
import { headersFor, type ManifestServer, unencrypted, withoutCredentials } from './manifest-server.ts';
import { redirectStatuses } from './redirect-target.ts';

/** A server that receives the node's status. Like that of a manifest URL, no other server gets our credentials. */
export type StatusServer = Omit<ManifestServer, 'largeBodies'>;

/** For the whole post, because the body takes long on a slow line. */
const totalMs = 60_000;

/**
 * Posts JSON to a server. Resolves with warnings about the credentials once the server has accepted it with a status of
 * 2xx. Follows no redirect and reads no body. Rejects with an OriginFailure, or with the signal's reason.
 */
export async function postJSON(server: StatusServer, body: string, outer: AbortSignal): Promise<ManifestProblem[]> {
  const over = new AbortController();
  const release = abortWith(over, outer);
  const cancel = server.clock.after(totalMs, () => {
    const hint = 'Check the load of the server and the network. The status is posted again automatically.';
    over.abort(new OriginFailure('no answer', `the server did not answer within ${totalMs / 1000} s`, hint));
  });
  try {
    return await unlessAborted(post(server, body, over.signal), over.signal);
  } catch (error) {
    outer.throwIfAborted();
    throw ofStatus(toOriginFailure(error));
  } finally {
    cancel();
    release();
    // Closes the connection, so that nothing more is read.
    over.abort();
  }
}

async function post(server: StatusServer, body: string, signal: AbortSignal): Promise<ManifestProblem[]> {
  const { tls, token, warnings } = await readCredentials(server.files);
  if (token !== undefined) server.secrets?.set(`token for ${server.url.origin}`, [token]);
  const headers = {
    ...headersFor(server, token),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const url = withoutCredentials(server.url);
  const proxy = server.proxyFor(url.href);
  const response = await sendRequest({ method: 'POST', url, headers, body, tls, proxy, signal });
  // Without a listener, its error would crash the process.
  response.on('error', () => undefined).destroy();
  const { statusCode = 0, headers: answered } = response;
  if (statusCode < 200 || statusCode > 299) {
    throw refusal(statusCode, parseRetryAfter(answered['retry-after'], server.clock.now()));
  }
  return headers.authorization === undefined ? warnings : [...warnings, ...unencrypted(server.url)];
}

function refusal(statusCode: number, retryAfterMs: number | undefined): OriginFailure {
  if (redirectStatuses.has(statusCode)) {
    const hint = 'Give the final URL to --status-url. The log-in page of a network redirects, too.';
    return new OriginFailure('refused', `the server answered ${statusCode}, a redirect, which is not followed`, hint);
  }
  const hint = hints.get(statusCode) ?? "Check the server's log. The status is posted again automatically.";
  return new OriginFailure('refused', `the server answered ${statusCode}`, hint, { retryAfterMs });
}

const credentialsHint =
  'Check the required credentials: --status-url-token-file, --status-url-header, --status-url-cert-file.';
const hints: ReadonlyMap<number, string> = new Map([
  [401, credentialsHint],
  [403, credentialsHint],
  [404, 'Check the path of the URL.'],
  [405, 'Check the path of the URL. The server must accept POST there.'],
  [413, 'Let the server accept larger bodies. A post has at most 256 KiB of events, and some KiB for each pod.'],
]);

/** Names the flags of status URLs instead of those of manifest URLs. */
function ofStatus({ kind, message, hint, retryAfterMs, cause }: OriginFailure): OriginFailure {
  const ours = hint.replaceAll('--manifest-url-', '--status-url-');
  return new OriginFailure(kind, message, ours, { retryAfterMs, cause });
}
