import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { errorMessage } from '../../src/errors.ts';
import { cache, repository } from './program.ts';

/** A containerd release and the folder of its programs, which is undefined for the installed one. */
export interface ContainerdRelease {
  readonly release: string;
  readonly folder: string | undefined;
}

/** Runs the tests of one release in order, while `describe.concurrent.each` runs the releases in parallel. */
export const inTurn = { concurrent: false };

/** Returns the installed containerd and those other releases that are available here. Prints why one is left out. */
export function containerdReleases(): ContainerdRelease[] {
  return [{ release: 'as installed', folder: undefined }, ...cachedRelease('1.7'), ...cachedRelease('2')];
}

/** The same without the releases in between, for behaviour that does not change within them. */
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
