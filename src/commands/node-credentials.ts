import { type DockerConfigPlaces, readDockerConfigFiles } from '../engine/images/docker-config-files.ts';
import type { DockerConfig } from '../engine/images/docker-config.ts';
import type { Logger } from '../logger.ts';
import type { NodeOptions } from './node-options.ts';

/** The registry credentials that the node has, for the engine to ask for. */
export function nodeCredentials(
  { rootDir }: Pick<NodeOptions, 'rootDir'>,
  logger: Logger,
): (repository: string) => Promise<DockerConfig[]> {
  const places: DockerConfigPlaces = { rootDir, workingDir: process.cwd(), home: process.env['HOME'] ?? '' };
  return async () => [await readDockerConfigFiles(places, logger)];
}
