import { systemClock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { postJSON } from '../../origins/http/post-json.ts';
import { shownURL } from '../../origins/http/url.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { proxyFor } from '../sources/node-sources.ts';
import { StatusURLs } from './status-urls.ts';

/** The status URLs that the flags name. Rejects with a file error. */
export function openStatusURLs(options: NodeOptions, logger: Logger): Promise<StatusURLs> {
  const { rootDir, statusURLHeaders: headers, statusURLFiles: files, secrets } = options;
  const clock = systemClock;
  const servers = options.statusURLs.map((text) => {
    const url = new URL(text);
    const server = { url, headers, files, proxyFor, secrets, clock };
    return { where: shownURL(url), post: (body: string, signal: AbortSignal) => postJSON(server, body, signal) };
  });
  const log = logger.child({ component: 'status-urls' });
  return StatusURLs.open({ rootDir, servers, clock, random: Math.random, logger: log });
}
