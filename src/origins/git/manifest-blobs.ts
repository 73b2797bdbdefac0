import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { isManifestPath, type NamedManifest, refuseBadPath } from '../../engine/config/polled/joined-files.ts';

/** Manifests of a commit. */
export interface FoundManifests {
  files: NamedManifest[];
  /** Links that are named like a manifest. */
  links: string[];
}

/** The git objects of the manifests in a tree. */
interface ManifestBlobs {
  files: { path: string; id: string; bytes: number }[];
  links: string[];
}

/** No node runs that many manifests. */
const maxFiles = 1000;

/**
 * Returns the manifests in the output of `git ls-tree -r -z -l`, below a path: *.yaml, *.yml and *.json, without those
 * whose name or folder begins with a dot. Throws an OriginFailure if there are none, too many files, or too many bytes.
 */
export function manifestBlobs(tree: string, below: string): ManifestBlobs {
  const blobs: ManifestBlobs = { files: [], links: [] };
  let total = 0;
  for (const entry of entriesOf(tree)) {
    const [, mode = '', id = '', size = '', full = ''] = /^(\d+) blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(entry) ?? [];
    const path = full === below ? (full.split('/').at(-1) ?? '') : full.slice(below === '' ? 0 : below.length + 1);
    if (!isManifestPath(path)) continue;
    refuseBadPath(path);
    if (mode === linkMode) {
      blobs.links.push(path);
      continue;
    }
    total += Number(size);
    blobs.files.push({ path, id, bytes: Number(size) });
    if (total > maxManifestBytes) throw noManifest('the manifests are larger than 10 MiB', 'Name a folder: …//FOLDER');
    if (blobs.files.length > maxFiles) {
      throw noManifest(`there are more than ${maxFiles} manifests`, 'Name a folder: …//FOLDER');
    }
  }
  if (blobs.files.length > 0) return blobs;
  const folder = below === '' ? 'the repository' : below;
  throw noManifest(
    `there are no manifests in ${folder}`,
    'Only *.yaml, *.yml and *.json are read. Check path and ref.',
  );
}

/** Yields one entry at a time, because a tree may have a hundred thousand. */
function* entriesOf(tree: string): Generator<string> {
  let start = 0;
  for (;;) {
    const end = tree.indexOf('\0', start);
    if (end === -1) return;
    yield tree.slice(start, end);
    start = end + 1;
  }
}

const linkMode = '120000';

const noManifest = (message: string, hint: string): OriginFailure => new OriginFailure('is no manifest', message, hint);
