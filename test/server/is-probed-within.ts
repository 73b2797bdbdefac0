import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Ticks a second of the timers that the kernel shows. */
const ticksASecond = 100;
/** The kernel's number of the timer for keep-alive. */
const keepAlive = '02';

/**
 * True if the kernel probes the client of a silent connection within this time. The connection is one of IPv4, without
 * a byte so far.
 */
export function isProbedWithin({ localPort, remotePort }: Socket, seconds: number): boolean {
  const [local = '', remote = ''] = [localPort, remotePort].map(shownPort);
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, from, to, , , timer = ''] = line.trim().split(/\s+/);
    if (from?.endsWith(local) !== true || to?.endsWith(remote) !== true) continue;
    const [kind, ticks = ''] = timer.split(':');
    return kind === keepAlive && Number.parseInt(ticks, 16) <= seconds * ticksASecond;
  }
  throw new Error('the kernel does not know this connection');
}

const shownPort = (port = 0): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
