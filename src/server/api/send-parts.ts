import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Clock } from '../../clock.ts';
import { send } from './answers.ts';

export interface PartsRequest {
  headers: Readonly<Record<string, string>>;
  parts: Generator<Buffer, void>;
  isZipped: boolean;
  clock: Pick<Clock, 'after'>;
}

/**
 * Maximum milliseconds that a client may take for an answer, because the statistics stay in memory until it is sent.
 */
export const patienceMs = 60_000;
/** For programs that scrape this machine. kubelet: client_golang promhttp, gzip.BestSpeed */
const level = constants.Z_BEST_SPEED;

/**
 * Answers with a body in parts. Produces each part when the client has read the previous one, so a long body is never
 * in memory as a whole. A body with one part has a length, as in the kubelet. Closes the connection of a client that
 * takes too long.
 */
export async function sendParts(
  response: ServerResponse,
  { headers, parts, isZipped, clock }: PartsRequest,
): Promise<void> {
  const all = { ...headers, ...(isZipped && { 'content-encoding': 'gzip' }) };
  const [first, second] = [parts.next(), parts.next()];
  const start = first.value ?? Buffer.alloc(0);
  if (second.done === true) {
    send(response, 200, all, isZipped ? await promisify(gzip)(start, { level }) : start);
    return;
  }
  const late = new AbortController();
  const cancel = clock.after(patienceMs, () => {
    late.abort();
  });
  try {
    response.writeHead(200, all);
    if (response.req.method === 'HEAD') response.end();
    else {
      const zip = isZipped ? createGzip({ level }) : undefined;
      const { signal } = late;
      const sent = zip === undefined ? finished(response, { signal }) : pipeline(zip, response, { signal });
      // The client has disconnected, or is too slow.
      const ended = sent.catch(() => {
        response.destroy();
      });
      // A write to a connection that was just destroyed never finishes.
      await Promise.race([ended, writeAll(zip ?? response, [start, second.value], parts)]);
      await ended;
    }
  } finally {
    cancel();
    parts.return();
  }
}

/** Returns early if the stream closes first. */
async function writeAll(
  stream: Pick<Writable, 'write' | 'end'>,
  start: readonly Buffer[],
  rest: Iterable<Buffer>,
): Promise<void> {
  for (const part of start) if (!(await isWritten(stream, part))) return;
  for (const part of rest) if (!(await isWritten(stream, part))) return;
  stream.end();
}

/** Resolves when the stream no longer needs the bytes. */
function isWritten(stream: Pick<Writable, 'write'>, bytes: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    stream.write(bytes, (error) => {
      resolve(!error);
    });
  });
}
