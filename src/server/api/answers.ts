import { ServerResponse } from 'node:http';
import { textOrBytes } from './content-type.ts';

/** Longer text is sent as bytes, because Node would keep both the text and its bytes. */
const maxTextLength = 4096;

const plainText = 'text/plain; charset=utf-8';

/** Answers with a line of text, as Go's net/http reports an error. */
export function sendError(response: ServerResponse, status: number, text: string): void {
  send(response, status, { 'content-type': plainText, 'x-content-type-options': 'nosniff' }, `${text}\n`);
}

/** Answers with exactly this text, as the kubelet's handlers do. Its type is text or bytes. */
export function sendPlain(response: ServerResponse, status: number, text: string): void {
  send(response, status, { 'content-type': textOrBytes(Buffer.from(text)) }, text);
}

/** Answers with JSON and with a line end if the kubelet sends one. */
export function sendJSON(response: ServerResponse, value: unknown, end: '' | '\n' = ''): void {
  send(response, 200, { 'content-type': 'application/json' }, `${JSON.stringify(value)}${end}`);
}

export function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): void {
  // Node sends a short text and the head in one piece.
  const content = typeof body === 'string' && body.length > maxTextLength ? Buffer.from(body) : body;
  // The length of a 304 would be that of the file. Go's net/http omits it.
  const length = status === 304 ? {} : { 'content-length': Buffer.byteLength(content) };
  const { connection, ...others } = headers;
  // HTTP/2 has no such header, and Node would print a warning.
  const ofConnection = connection !== undefined && response instanceof ServerResponse ? { connection } : {};
  response.writeHead(status, { ...ofConnection, ...others, ...length });
  response.end(response.req.method === 'HEAD' ? undefined : content);
}

/** A refusal of a request, with the text that the kubelet answers. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.status = status;
    this.headers = headers;
  }
}
