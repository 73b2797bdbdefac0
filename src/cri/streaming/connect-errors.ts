import type { IncomingMessage } from 'node:http';
import { UserError, errorMessage } from '../../errors.ts';

const maxTextCharacters = 1000;

/** The runtime's streaming server does not speak this protocol. It did not start the command. */
export class ConnectionRefused extends Error {
  override readonly name = 'ConnectionRefused';
}

/** Creates an error from a response without an upgrade, including the response text. */
export async function refusedBy(response: IncomingMessage): Promise<ConnectionRefused> {
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk;
      if (text.length >= maxTextCharacters) break;
    }
  } catch {
    // The status code is enough.
  }
  const status = `${response.statusCode ?? 0} ${response.statusMessage ?? ''}`.trim();
  return new ConnectionRefused(`HTTP ${status}: ${text.slice(0, maxTextCharacters).trim()}`);
}

/** The runtime's streaming server cannot be reached. */
export function unreachable(url: URL, error: unknown): UserError {
  return new UserError(
    `connecting to the container runtime's streaming server at ${url.host}: ${errorMessage(error)}`,
    {
      hint: 'The address comes from the configuration of the container runtime (containerd: stream_server_address).',
      cause: error,
    },
  );
}
