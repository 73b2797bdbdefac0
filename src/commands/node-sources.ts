import { systemClock } from '../clock.ts';
import { FileSource } from '../engine/config/file-source.ts';
import { HTTPSource } from '../engine/config/http-source.ts';
import { LastGoodManifests } from '../engine/config/last-good-manifests.ts';
import type { PodSource } from '../engine/config/pod-source.ts';
import { UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { NodeOptions } from './node-options.ts';

/** The sources that the flags name. */
export function nodeSources(options: NodeOptions, logger: Logger): PodSource[] {
  const { nodeName, manifestPaths, manifestURL, rootDir } = options;
  const lastGood = new LastGoodManifests({
    rootDir,
    clock: systemClock,
    logger: logger.child({ component: 'last-good-manifests' }),
  });
  const sources: PodSource[] = [];
  if (manifestPaths.length > 0) {
    sources.push(
      new FileSource({
        paths: manifestPaths,
        nodeName,
        fileCheckFrequencyMs: options.fileCheckFrequencyMs,
        clock: systemClock,
        logger: logger.child({ component: 'file-source' }),
        lastGood,
      }),
    );
  }
  if (manifestURL !== undefined) {
    sources.push(
      new HTTPSource({
        url: validURL(manifestURL),
        headers: options.manifestURLHeaders,
        nodeName,
        httpCheckFrequencyMs: options.httpCheckFrequencyMs,
        clock: systemClock,
      }),
    );
  }
  return sources;
}

function validURL(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new UserError(`--manifest-url must be an http or https URL, not "${text}"`);
}
