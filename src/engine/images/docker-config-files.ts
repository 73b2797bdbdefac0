import { resolve } from 'node:path';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { readRegularFile } from '../host/regular-file.ts';
import { type DockerConfig, parseDockercfg, parseDockerConfigJSON } from './docker-config.ts';

/** Far more than any list of registries. */
const maxBytes = 1024 * 1024;

/** The folders in which a node's own credentials may be. */
export interface DockerConfigPlaces {
  rootDir: string;
  workingDir: string;
  /** `$HOME`; empty: none. */
  home: string;
}

/**
 * The node's own credentials: of the first file there is, in the kubelet's order. One that is broken is told and passed
 * over. It is read at every pull, so that a login counts at once. kubelet: credentialprovider/config.go ReadDockerConfigFile
 */
export async function readDockerConfigFiles(places: DockerConfigPlaces, logger: Logger): Promise<DockerConfig> {
  for (const { path, parse } of candidates(places)) {
    try {
      const text = await readIfThere(path);
      if (text !== undefined) return parse(text);
    } catch (error) {
      logger.warn({ path, err: errorMessage(error) }, 'A file of registry credentials cannot be used');
    }
  }
  return new Map();
}

function candidates({
  rootDir,
  workingDir,
  home,
}: DockerConfigPlaces): { path: string; parse: (text: string) => DockerConfig }[] {
  const configs = [rootDir, workingDir, resolve(home, '.docker'), '/.docker'];
  const older = [rootDir, workingDir, home, '/'];
  return [
    ...configs.map((folder) => ({ path: resolve(folder, 'config.json'), parse: parseDockerConfigJSON })),
    ...older.map((folder) => ({ path: resolve(folder, '.dockercfg'), parse: parseDockercfg })),
  ];
}

/** Undefined: there is none. A named pipe in its place is not waited for. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readRegularFile(path, maxBytes, { followLinks: true })).toString('utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
