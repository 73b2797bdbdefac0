import { errorMessage, hasCode } from '../../errors.ts';

/** The kernel's errors in Go's words. */
const causes: readonly (readonly [code: string, text: string])[] = [
  ['ECONNREFUSED', 'connect: connection refused'],
  ['EHOSTUNREACH', 'connect: no route to host'],
  ['ENETUNREACH', 'connect: network is unreachable'],
  ['EADDRNOTAVAIL', 'connect: cannot assign requested address'],
  ['EACCES', 'connect: permission denied'],
  ['ETIMEDOUT', 'connect: connection timed out'],
];

/** Why a connection failed or broke, in the kubelet's words. */
export function dialErrorText(error: unknown, { host, port }: { host: string; port: number }): string {
  const dial = `dial tcp ${addressText(host, port)}`;
  for (const [code, text] of causes) if (hasCode(error, code)) return `${dial}: ${text}`;
  if (hasCode(error, 'ENOTFOUND')) return `dial tcp: lookup ${host}: no such host`;
  // Node also reports a closed connection this way.
  if (hasCode(error, 'ECONNRESET')) return 'EOF';
  return errorMessage(error);
}

/** Host and port as in a URL. */
export function addressText(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
