import { resolve } from 'node:path';
import { errorMessage } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { type DockerConfig, parseDockercfg, parseDockerConfigJSON } from './docker-config.ts';

/** Far larger than any of these files. */
const maxBytes = 1024 * 1024;

/** Folders that may hold the node's own credentials. */
export interface DockerConfigPaths {
  rootDir: string;
  workingDir: string;
  /** `$HOME`. Empty if unset. */
  home: string;
}

/**
 * The node's own credentials, from the first valid file in the kubelet's order. Reports and skips a broken file. Called
 * for every pull, so that a login takes effect at once. kubelet: credentialprovider/config.go ReadDockerConfigFile
 */
export async function readDockerConfigFiles(
  paths: DockerConfigPaths,
  onBroken: (path: string, because: string) => void,
): Promise<DockerConfig> {
  for (const { path, parse } of candidates(paths)) {
    try {
      const text = await readIfThere(path);
      if (text !== undefined) return parse(text);
    } catch (error) {
      onBroken(path, errorMessage(error));
    }
  }
  return new Map();
}

function candidates({
  rootDir,
  workingDir,
  home,
}: DockerConfigPaths): { path: string; parse: (text: string) => DockerConfig }[] {
  const configs = [rootDir, workingDir, resolve(home, '.docker'), '/.docker'];
  const older = [rootDir, workingDir, home, '/'];
  return [
    ...configs.map((folder) => ({ path: resolve(folder, 'config.json'), parse: parseDockerConfigJSON })),
    ...older.map((folder) => ({ path: resolve(folder, '.dockercfg'), parse: parseDockercfg })),
  ];
}

/** Resolves with undefined if the file does not exist. Does not wait for a named pipe. */
async function readIfThere(path: string): Promise<string | undefined> {
  return (await ifPresent(readRegularFile(path, maxBytes, { followLinks: true }), 'ENOTDIR'))?.toString('utf8');
}
