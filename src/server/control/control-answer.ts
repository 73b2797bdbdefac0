import type { ServerResponse } from 'node:http';
import { sendText } from '../http-server.ts';
import type { ControlContext } from './control-route.ts';

/** A refused request: one sentence, and possibly the way out. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly hint: string | undefined;

  constructor(status: number, message: string, hint?: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** Answers with the sentence, and with its hint in a second line. */
export function sendRefusal(response: ServerResponse, { status, message, hint }: Refusal): void {
  sendText(response, status, hint === undefined ? message : `${message}\n${hint}`);
}

export function sendJSON({ unread }: Pick<ControlContext, 'unread'>, response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  // Sends bytes, because Node would keep a text beside its bytes, with two bytes a letter if it has one `…`.
  response.end(Buffer.from(JSON.stringify(value)));
  unread.note(response);
}
