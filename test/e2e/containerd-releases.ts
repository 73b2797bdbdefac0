import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { errorMessage } from '../../src/errors.ts';
import { cache, repository } from './program.ts';

/** A containerd release and the folder of its programs, undefined for the installed one. */
export interface ContainerdRelease {
  readonly release: string;
  readonly folder: string | undefined;
}

/** Tests of one release in their order, while `describe.concurrent.each` tries the releases side by side. */
export const inTurn = { concurrent: false };

/** The installed containerd, and of the others those that can be had here; why one is left out is printed. */
export function containerdReleases(): ContainerdRelease[] {
  return [{ release: 'as installed', folder: undefined }, ...cachedRelease('1.7'), ...cachedRelease('2')];
}

/** The same without those between: for what no release in the middle does in a way of its own. */
export function oldestAndNewest(): ContainerdRelease[] {
  const releases = containerdReleases();
  return [...releases.slice(0, 1), ...releases.slice(1).slice(-1)];
}

function cachedRelease(line: string): ContainerdRelease[] {
  try {
    const script = join(repository, 'scripts/fetch-program');
    const target = execFileSync(script, [`containerd-${line}`, cache], { encoding: 'utf8' }).trim();
    return [{ release: line, folder: join(target, 'usr/bin') }];
  } catch (error) {
    process.stderr.write(`containerd ${line} is left out: ${errorMessage(error)}\n`);
    return [];
  }
}
