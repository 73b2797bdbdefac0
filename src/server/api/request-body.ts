import type { IncomingMessage } from 'node:http';
import { Refusal } from './answers.ts';

/** The first bytes of a body, and whether they are all of it. Rejects with a `Refusal` if the body ends early. */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } catch {
    // The client is gone, or its time is over.
    throw new Refusal(400, 'unexpected EOF');
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isWhole: length <= maxBytes };
}
