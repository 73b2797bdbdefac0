export const isHTTP = ({ protocol }: URL): boolean => /^https?:$/.test(protocol);

/** True if the host name of a URL is a loopback address. */
export function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.[0-9.]+$/.test(hostname);
}

/**
 * Returns a URL to use in logs, listings and problems, and as the name of its source. User, password and query may be
 * secrets, so the first two are dropped and the query becomes `…`. The fragment stays: no server sees it, and it can
 * distinguish URLs that differ only in their queries.
 */
export function shownURL({ protocol, host, pathname, search, hash }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}${hash}`;
}
