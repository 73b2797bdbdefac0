import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the target of a redirect. Throws an OriginFailure unless it has the same origin, or the https origin of the
 * same host. So no other server gets our token and client certificate, and the login page of a network is not mistaken
 * for the server.
 */
export function redirectTarget(from: URL, location: string): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined) {
    const hint = 'Give the final URL of the manifest to --manifest-url.';
    throw new OriginFailure('refused', 'the server redirects to an invalid URL', hint);
  }
  Object.assign(target, { username: '', password: '', hash: '' });
  if (target.origin === from.origin || isUpgrade(from, target)) return target;
  const hint =
    'If the manifest is there, give that URL to --manifest-url. The log-in page of a network redirects, too.';
  throw new OriginFailure(
    'refused',
    `the server redirects to another one, ${target.origin}, which is not followed`,
    hint,
  );
}

/**
 * True for an upgrade from http to https as in HSTS: the default port becomes 443, any other port stays. RFC 6797
 * section 8.3
 */
function isUpgrade(from: URL, target: URL): boolean {
  return (
    from.protocol === 'http:' &&
    target.protocol === 'https:' &&
    from.hostname === target.hostname &&
    from.port === target.port
  );
}
