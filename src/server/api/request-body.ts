import type { IncomingMessage, ServerResponse } from 'node:http';
import { GrowingBytes } from '../../files/growing-bytes.ts';
import { Refusal } from './answers.ts';

/** Answers clients that wait until they are asked for the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Asks such a client for its body when a handler reads it. Otherwise the client may send no body, so the connection is
 * closed after the answer. kubelet: Go's net/http expectContinueReader
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  waiting.set(request, response);
}

/** The first bytes of a body, and whether they are all of it. Rejects with a `Refusal` if the body is cut off. */
export async function readBodyStart(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
  const body = new GrowingBytes();
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      body.add(chunk);
      if (body.length > maxBytes) break;
    }
  } catch {
    // The client has disconnected, or its time is over.
    throw new Refusal(400, 'unexpected EOF');
  }
  const isWhole = body.length <= maxBytes;
  return { bytes: body.drain().subarray(0, maxBytes), isWhole };
}
