import type { Logger } from '../../logger.ts';
import { visible } from '../../visible-text.ts';
import type { ControlCall } from './control-route.ts';
import { PeerCredentials } from './peer-credentials.ts';

/** Longest text of a client in the log, in characters: more than a path of the longest names. */
const maxTextLength = 500;

/** Logs each request that is not a read, when it has ended. */
export class ActionLog {
  private readonly unwritten = new Set<Promise<void>>();
  private readonly credentials: PeerCredentials;

  constructor(credentials = new PeerCredentials()) {
    this.credentials = credentials;
  }

  /** The entry's `client` is the kernel's word, `userAgent` the client's own. The answer waits for neither. */
  note({ request, response }: ControlCall, logger: Logger): void {
    const { method, url = '', headers } = request;
    const client = this.credentials.of(request.socket);
    const closed = new Promise((resolve) => response.once('close', resolve));
    const written = Promise.all([client, closed]).then(([client]) => {
      const userAgent = bounded(headers['user-agent'] ?? 'unnamed');
      const facts = { method, path: bounded(url), client, userAgent, status: response.statusCode };
      logger.info(facts, 'Control request');
      this.unwritten.delete(written);
    });
    this.unwritten.add(written);
  }

  /** Resolves when all requests so far are in the log. All must have ended. */
  async written(): Promise<void> {
    await Promise.all(this.unwritten);
  }
}

const bounded = (text: string): string => visible(text).slice(0, maxTextLength);
