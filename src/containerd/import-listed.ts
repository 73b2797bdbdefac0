import type { Readable } from 'node:stream';
import { parseImageName } from '../api/values/image-name.ts';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { ImageStore } from './ctr.ts';
import { importImageArchive } from './import-image-archive.ts';
import type { ImportProgress } from './import-progress.ts';
import type { IsListed } from './listed-images.ts';

interface ListedImport {
  /** Endpoint of the CRI of the same containerd. */
  isListed: IsListed;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  signal: AbortSignal;
  /** See `ImportOptions`. */
  input?: Readable | undefined;
  onProgress?: (progress: ImportProgress) => void;
}

const pollMs = 5;
/** Milliseconds to wait until one image is listed. The CRI plugin needs milliseconds, or seconds on a busy machine. */
const patienceMs = 60_000;

/**
 * Imports one archive and protects its images from garbage collection. Resolves to their names when the CRI lists them:
 * the CRI plugin learns of an image by an event, and until then a pod would try to pull it. Rejects with a `UserError`
 * if an image is not listed in time. Does not wait for incomplete names, because the CRI resolves none of them. An
 * image is still found by such a name if the CRI has it under its complete name, so incomplete names come last.
 */
export async function importListed(store: ImageStore, file: string, options: ListedImport): Promise<string[]> {
  const names = await importImageArchive(store, file, { ...options, pinned: true });
  for (const name of names.filter(isComplete)) {
    if (!(await isListedInTime(name, options)))
      throw notImported(file, `the runtime did not list ${name} in ${patienceMs / 1000} s`);
  }
  for (const name of names.filter((one) => !isComplete(one))) {
    if (!(await options.isListed(name, options.signal)))
      throw notImported(
        file,
        `the name of its image is not complete: ${name}`,
        'Save it with registry and path, such as localhost/app:1.',
      );
  }
  return names;
}

async function isListedInTime(name: string, { isListed, clock, signal }: ListedImport): Promise<boolean> {
  const giveUpAtMonotonic = clock.monotonic() + patienceMs;
  while (!(await isListed(name, signal))) {
    if (clock.monotonic() >= giveUpAtMonotonic) return false;
    await clock.sleep(pollMs, { signal });
  }
  return true;
}

function notImported(file: string, reason: string, hint?: string): UserError {
  return new UserError(`Could not import the image archive ${file}: ${reason}`, hint === undefined ? {} : { hint });
}

/** The CRI looks up complete names only: for `app:1` it looks for `docker.io/library/app:1`. */
function isComplete(name: string): boolean {
  const parsed = parseImageName(name);
  return parsed !== undefined && name.startsWith(parsed.repository);
}
