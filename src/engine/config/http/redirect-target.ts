import { HTTPFailure } from './http-failure.ts';

/**
 * Where a redirect leads. Throws an HTTPFailure for one that would carry our request, with its token and client
 * certificate, to another server: only the same origin is followed, or its https sibling. That also keeps the log-in
 * page of a network from being taken for the server.
 */
export function redirectTarget(from: URL, location: string): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined) {
    throw new HTTPFailure('refused', 'the server redirects to something that is no URL', {
      hint: 'Give the URL where the manifest is to --manifest-url.',
    });
  }
  target.username = '';
  target.password = '';
  target.hash = '';
  if (target.origin === from.origin || isUpgrade(from, target)) return target;
  throw new HTTPFailure('refused', `the server redirects to another one, ${target.origin}, which is not followed`, {
    hint: 'If the manifest is there, give that URL to --manifest-url; the log-in page of a network redirects, too.',
  });
}

/** As with HSTS: the standard port becomes the other standard port, any other one stays. RFC 6797 section 8.3 */
function isUpgrade(from: URL, target: URL): boolean {
  return (
    from.protocol === 'http:' &&
    target.protocol === 'https:' &&
    from.hostname === target.hostname &&
    from.port === target.port
  );
}
