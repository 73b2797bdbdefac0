import { joinManifests } from '../../../api/objects/join-manifests.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { SourceName } from '../../../api/values/config-annotations.ts';
import { NameOwners, claimedKeys } from '../../../api/values/name-owners.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { declaredAlready, loadManifest } from '../load-manifest.ts';
import { OriginFailure } from './origin-failure.ts';

/** One of several manifests, as written. `path` is relative. */
export interface NamedManifest {
  path: string;
  bytes: Uint8Array;
}

/** True for *.yaml, *.yml and *.json whose name and folders do not begin with a dot. */
export const isManifestPath = (path: string): boolean => /\.(ya?ml|json)$/.test(path) && !/(^|\/)\./.test(path);

/** The longest path that Linux allows. */
const maxPathBytes = 4096;

/**
 * Throws an OriginFailure if a path is longer than Linux allows, or has a control character, because every problem of
 * the file shows its path.
 */
export function refuseBadPath(path: string): void {
  const isLong = Buffer.byteLength(path) > maxPathBytes;
  if (!isLong && !/\p{Cc}/u.test(path)) return;
  const because = isLong ? `is longer than ${maxPathBytes} bytes` : 'has a control character';
  throw new OriginFailure('is no manifest', `a file name ${because}`, 'Rename the file.');
}

/** The line before each file. It separates YAML documents, so the text stays readable as one manifest. */
const separator = '--- # file ';
const separatorLine = new RegExp(`^${separator}(.+)$`, 'gm');

/** Joins several files into one text, for an origin with `hasFiles`. Each path must pass `refuseBadPath`. */
export function joinFiles(files: readonly NamedManifest[]): Buffer {
  return Buffer.concat(files.flatMap(({ path, bytes }) => [Buffer.from(`${separator}${path}\n`), bytes, newLine]));
}

/**
 * Returns warnings about links, because an origin does not follow them. `container` names what holds them, such as `a
 * repository`.
 */
export function linkWarnings(where: string, container: string, links: readonly string[]): ManifestProblem[] {
  const message = `links of ${container} are not followed`;
  const hint = 'Write the manifest itself.';
  return links.map((path) => ({ origin: `${where}//${path}`, severity: 'warning', message, hint }));
}

const newLine = Buffer.from('\n');

/** Decodes each of the joined files. Problems name the file below the origin. */
export function loadJoinedFiles(body: Uint8Array, where: string, node: StaticPodNode, source: SourceName): Manifests {
  const claims = new NameOwners<string>();
  const files = splitFiles(body).map(({ path, bytes }) => {
    const origin = `${where}//${path}`;
    // UIDs depend on the origin as a whole, so a pod that moves to another file keeps its UID.
    const {
      problems,
      dependsOnPositions: dependsOnPositions = [],
      classPositions: classPositions = [],
      ...loaded
    } = loadManifest(bytes, where, node, source);
    const keys = claimedKeys(loaded);
    claims.set(origin, keys);
    const taken = claims.claimedByAnother(origin, keys);
    if (taken !== undefined) {
      const hint = 'Remove one of them, or give it another name.';
      problems.push(declaredAlready(origin, taken, claims.owner(taken) ?? '', hint));
    }
    const placed = <T>(place: T): T & { origin: string } => ({ ...place, origin });
    return {
      ...loaded,
      problems: problems.map(placed),
      dependsOnPositions: dependsOnPositions.map(placed),
      classPositions: classPositions.map(placed),
    };
  });
  return joinManifests(files);
}

function splitFiles(body: Uint8Array): NamedManifest[] {
  // One character per byte, so that positions count bytes.
  const text = Buffer.from(body).toString('latin1');
  const lines = [...text.matchAll(separatorLine)];
  return lines.map((line, index) => ({
    path: Buffer.from(line[1] ?? '', 'latin1').toString('utf8'),
    bytes: body.subarray(line.index + line[0].length + 1, (lines[index + 1]?.index ?? body.length + 1) - 1),
  }));
}
