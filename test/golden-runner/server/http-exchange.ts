import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTLS, type ConnectionOptions } from 'node:tls';

/** One request, sent as it is written. */
export interface RawRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: readonly (readonly [string, string])[];
  body?: string;
  /** Sent once the connection is switched. */
  afterUpgrade?: string;
}

export interface RawAnswer {
  /** Undefined if the connection ended without an answer. */
  status: number | undefined;
  /** By name in lower case. */
  headers: Record<string, string>;
  body: Buffer;
  /** True if the server was still sending when the time was over. */
  isOpen: boolean;
}

interface Exchange {
  port: number;
  /** Absent for plain HTTP. */
  tls?: ConnectionOptions;
  /** Milliseconds without a byte after which an answer that does not end is taken as it is. */
  patienceMs: number;
}

/** Sends a request over a socket of its own and reads the answer. */
export async function exchange(request: RawRequest, { port, tls, patienceMs }: Exchange): Promise<RawAnswer> {
  const where = { host: '127.0.0.1', port };
  const socket = tls === undefined ? connectPlain(where) : connectTLS({ ...where, rejectUnauthorized: false, ...tls });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  await once(socket, tls === undefined ? 'connect' : 'secureConnect');
  const { method, target, headers, body = '', afterUpgrade } = request;
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const isOver = (): boolean => afterUpgrade !== undefined && Buffer.concat(chunks).includes(afterUpgrade);
  if (afterUpgrade !== undefined) {
    await untilSoOrClosed(() => Buffer.concat(chunks).includes('\r\n\r\n'), socket, patienceMs);
    if (socket.writable) socket.write(afterUpgrade);
  }
  await untilSoOrClosed(isOver, socket, patienceMs);
  const isOpen = !socket.closed;
  socket.destroy();
  return { ...parsed(Buffer.concat(chunks)), isOpen };
}

/** Waits until this is so, the connection is closed, or no byte came for `patienceMs`. */
async function untilSoOrClosed(isSo: () => boolean, socket: Socket, patienceMs: number): Promise<void> {
  while (!isSo() && !socket.closed) {
    const waits = new AbortController();
    const { signal } = waits;
    const change = ['data', 'close'].map((event) => once(socket, event, { signal }).then(() => true));
    const isChanged = await Promise.race([...change, delay(patienceMs, false, { signal })]);
    waits.abort();
    for (const one of change) one.catch(() => undefined);
    if (!isChanged) return;
  }
}

function parsed(bytes: Buffer): Omit<RawAnswer, 'isOpen'> {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return { status: undefined, headers: {}, body: bytes };
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/.exec(line) ?? [];
      return [name.toLowerCase(), value];
    }),
  );
  const rest = bytes.subarray(end + 4);
  const isChunked = headers['transfer-encoding'] === 'chunked';
  return { status: Number(first.split(' ')[1]), headers, body: isChunked ? unchunked(rest) : rest };
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) break;
    const length = parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (!(length > 0)) break;
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  return Buffer.concat(parts);
}
