import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';

/** An entry of a folder on the way to a file. */
export interface PathStep {
  /** Real path. */
  folder: string;
  name: string;
}

/** The kernel follows at most this many links. */
const maxLinks = 40;

/**
 * Returns the entries that decide where a path leads: each link on the way, and the last entry or the first missing
 * one. If one of them changes, the path may lead elsewhere. `path` may be relative to `folder`, which is a real path.
 */
export async function pathSteps(path: string, folder = '/'): Promise<PathStep[]> {
  const steps: PathStep[] = [];
  const names = namesOf(path);
  let current = folder;
  for (let name = names.shift(), links = 0; name !== undefined; name = names.shift()) {
    if (name === '..') {
      current = dirname(current);
      continue;
    }
    const target = await leadsTo(join(current, name));
    if (target === 'itself' && names.length > 0) {
      current = join(current, name);
      continue;
    }
    steps.push({ folder: current, name });
    if (target === 'itself' || target === 'nowhere' || ++links > maxLinks) break;
    if (isAbsolute(target.link)) current = '/';
    names.unshift(...namesOf(target.link));
  }
  return steps;
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

async function leadsTo(path: string): Promise<'itself' | 'nowhere' | { link: string }> {
  try {
    return (await lstat(path)).isSymbolicLink() ? { link: await readlink(path) } : 'itself';
  } catch {
    // The path is missing or unreadable. Opening it reports the error.
    return 'nowhere';
  }
}
