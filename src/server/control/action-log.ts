import { once } from 'node:events';
import type { Logger } from '../../logger.ts';
import { visible } from '../../text/visible-text.ts';
import type { ControlCall } from './control-route.ts';

/** Longest text of a client in the log, in characters: more than a path of the longest names. */
const maxTextLength = 500;

/** Logs each request that is not a read, once it is finished. */
export class ActionLog {
  private readonly unwritten = new Set<Promise<void>>();

  /** `userAgent` is how the client identifies itself. The mode of the socket decides who may be a client. */
  record({ request, response }: ControlCall, logger: Logger): void {
    const { method, url = '', headers } = request;
    const flushed = once(response, 'close').then(() => {
      const userAgent = bounded(headers['user-agent'] ?? 'unnamed');
      logger.info({ method, path: bounded(url), userAgent, status: response.statusCode }, 'Control request');
      this.unwritten.delete(flushed);
    });
    this.unwritten.add(flushed);
  }

  /** Resolves when all requests so far are in the log. All must be finished. */
  async written(): Promise<void> {
    await Promise.all(this.unwritten);
  }
}

const bounded = (text: string): string => visible(text).slice(0, maxTextLength);
