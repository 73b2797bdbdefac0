import { parseImageName } from '../api/values/image-name.ts';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { ImageStore } from './ctr.ts';
import { importImageArchive } from './import-image-archive.ts';
import type { ImportProgress } from './import-progress.ts';
import type { IsListed } from './listed-images.ts';

interface ListedImport {
  /** Of the CRI of the same containerd. */
  isListed: IsListed;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  signal: AbortSignal;
  onProgress?: (progress: ImportProgress) => void;
}

const pollMs = 5;
/**
 * Milliseconds to wait for one image. The CRI plugin lists it within milliseconds, and on a busy machine within
 * seconds. It hardly ever lists one whose name is not complete.
 */
const patienceMs = { complete: 60_000, incomplete: 10_000 };

/**
 * Imports one archive and protects its images from garbage collection. Resolves to their names when the CRI lists them,
 * because until then a pod would try to pull them: the CRI plugin learns of an image by an event. Rejects with a
 * `UserError` if it does not list one in time.
 */
export async function importListed(store: ImageStore, file: string, options: ListedImport): Promise<string[]> {
  const names = await importImageArchive(store, file, { ...options, pinned: true });
  for (const name of names) if (!(await isListedInTime(name, options))) throw notListed(file, name);
  return names;
}

async function isListedInTime(name: string, { isListed, clock, signal }: ListedImport): Promise<boolean> {
  const giveUpAtMonotonic = clock.monotonic() + (isComplete(name) ? patienceMs.complete : patienceMs.incomplete);
  while (!(await isListed(name, signal))) {
    if (clock.monotonic() >= giveUpAtMonotonic) return false;
    await clock.sleep(pollMs, { signal });
  }
  return true;
}

function notListed(file: string, name: string): UserError {
  const failed = `Could not import the image archive ${file}`;
  if (isComplete(name))
    return new UserError(`${failed}: the runtime did not list ${name} in ${patienceMs.complete / 1000} s`);
  return new UserError(`${failed}: the name of its image is not complete: ${name}`, {
    hint: 'Save it with registry and path, such as localhost/app:1.',
  });
}

/** The CRI looks for the complete name of an image only: for `app:1` it looks for `docker.io/library/app:1`. */
function isComplete(name: string): boolean {
  const parsed = parseImageName(name);
  return parsed !== undefined && name.startsWith(parsed.repository);
}
