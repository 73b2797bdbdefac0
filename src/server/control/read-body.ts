import type { IncomingMessage } from 'node:http';
import { GrowingBytes } from '../../files/growing-bytes.ts';
import { ControlRefusal } from './control-answer.ts';

/** Limit on a body of options. */
const maxJSONBytes = 64 * 1024;

/**
 * The body of a request. Its time is bounded by the server. Throws a `ControlRefusal` if it is longer than `maxBytes`.
 */
export async function readWholeBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = new GrowingBytes();
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (body.length + chunk.length > maxBytes)
      throw new ControlRefusal(413, `the request is longer than ${maxBytes} bytes`);
    body.add(chunk);
  }
  return body.drain();
}

/** The options in the body of a request; without a body none. Throws a `ControlRefusal` if it is not a JSON object. */
export async function readOptions(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = (await readWholeBody(request, maxJSONBytes)).toString('utf8');
  if (text === '') return {};
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ControlRefusal(400, 'the body is not a JSON object');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
