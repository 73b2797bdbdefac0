import { errorMessage, hasCode } from '../../errors.ts';

/** Go's messages for the kernel's errors. */
const causes: readonly (readonly [code: string, text: string])[] = [
  ['ECONNREFUSED', 'connect: connection refused'],
  ['EHOSTUNREACH', 'connect: no route to host'],
  ['ENETUNREACH', 'connect: network is unreachable'],
  ['EADDRNOTAVAIL', 'connect: cannot assign requested address'],
  ['EACCES', 'connect: permission denied'],
  ['ETIMEDOUT', 'connect: connection timed out'],
];

/** Returns why a connection failed or broke, in the kubelet's words. */
export function dialErrorText(error: unknown, { host, port }: { host: string; port: number }): string {
  const dial = `dial tcp ${addressText(host, port)}`;
  for (const [code, text] of causes) if (hasCode(error, code)) return `${dial}: ${text}`;
  if (hasCode(error, 'ENOTFOUND')) return `dial tcp: lookup ${host}: no such host`;
  // Node also reports a closed connection this way.
  if (hasCode(error, 'ECONNRESET')) return 'EOF';
  return errorMessage(error);
}

/** Returns host and port as in a URL. */
export function addressText(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
