/** Whether what is sent to this host name of a URL leaves this machine: not when it is a loopback address. */
export function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.[0-9.]+$/.test(hostname);
}

/**
 * A URL as logs, listings and problems show it, and by which its source is known: without user and password, and with
 * `…` for the query, as those may be secrets. The fragment, which no server gets to see, stays: it tells URLs apart
 * that differ in their queries alone.
 */
export function shownURL({ origin, pathname, search, hash }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}${hash}`;
}
