import type { ServerResponse } from 'node:http';
import { RequestRefused } from '../../errors.ts';
import { sendText } from '../http-server.ts';

/** A refused request: one sentence, and possibly a hint. */
export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';

  constructor(
    readonly status: number,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

const statuses = { missing: 404, conflict: 409, invalid: 400, unready: 503 } as const;

/** Throws a `ControlRefusal` in place of a `RequestRefused`. */
export async function unlessRefused<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestRefused) throw new ControlRefusal(statuses[error.kind], error.message, error.hint);
    throw error;
  }
}

/** Answers with the sentence, and with its hint in a second line. */
export function sendRefusal(response: ServerResponse, { status, message, hint }: ControlRefusal): void {
  sendText(response, status, hint === undefined ? message : `${message}\n${hint}`);
}

export function sendJSON(response: ServerResponse, value: unknown): void {
  sendBytes(response, bytesOfJSON(value));
}

/** Bytes, because Node would keep a text beside its bytes, with two bytes a letter if it has one `…`. */
const bytesOfJSON = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/**
 * Like `bytesOfJSON`, for an object with long arrays: each element becomes a separate text. V8 treats text of more than
 * 128 KB as old from the start, so dozens of them a second would make it collect its whole heap all the time.
 */
export function bytesOfLongJSON(value: object): Buffer {
  return Buffer.concat(Array.from(partsOfJSON(value), (text) => Buffer.from(text)));
}

function* partsOfJSON(value: object): Generator<string> {
  let before = '{';
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (Array.isArray(member)) {
      yield `${before}${JSON.stringify(key)}:[`;
      for (const [index, element] of member.entries())
        yield `${index > 0 ? ',' : ''}${JSON.stringify([element]).slice(1, -1)}`;
      yield ']';
    } else {
      const text = JSON.stringify({ [key]: member }).slice(1, -1);
      if (text === '') continue;
      yield before + text;
    }
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

/** Answers with bytes of JSON, which several answers may share. */
export function sendBytes(response: ServerResponse, bytes: Buffer): void {
  // Without its length, Node would send it in chunks.
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  endWithin(response, bytes);
}

/** Time for a client to read the next bytes of an answer, in milliseconds. */
const maxSilenceMs = 10_000;

/** Ends an answer. Closes the connection if the client stops reading. */
export function endWithin(response: ServerResponse, body: string | Buffer): void {
  response.setTimeout(maxSilenceMs, () => response.destroy());
  response.end(body);
}
