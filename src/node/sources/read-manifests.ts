import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { joinManifests } from '../../api/objects/join-manifests.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import { type ManifestProblem, withoutNotes } from '../../api/text/manifest-problem.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import type { Pod } from '../../api/types.ts';
import type { ConfigObject } from '../../api/values/config-object.ts';
import {
  cycleOf,
  cycleText,
  dependsOn,
  type DependsOnPosition,
  findDependency,
  manifestKey,
} from '../../api/values/depends-on.ts';
import { systemClock } from '../../clock.ts';
import { FileSource } from '../../engine/config/file/file-source.ts';
import { hungHint } from '../../engine/config/file/manifest-paths.ts';
import { loadManifest } from '../../engine/config/load-manifest.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { HungPathError, PathGuard } from '../../engine/host/path-guard.ts';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { silent } from '../../logger.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { isURL, urlForPath } from '../options/url-for-path.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { type ManifestText, stdinOrigin } from './manifest-texts.ts';

export interface ManifestsRequest extends StaticPodNode {
  /** Files, folders, or `-` for stdin. */
  manifests: readonly string[];
  /** The content of stdin; undefined if stdin was not read. */
  stdin: Uint8Array | undefined;
  /** Folders with a kustomization to build. In `manifests`, such a folder is only read. */
  kustomizations?: readonly string[];
  /** True to include problems with the severity `note`. */
  withNotes?: boolean;
}

/** Reads manifests once, by the rules of the file source. Returns everything they declare, with all problems. */
export async function readManifests(request: ManifestsRequest): Promise<SourceUpdate> {
  const { manifests, stdin, kustomizations = [], withNotes = false, ...node } = request;
  const urls = manifests.filter(isURL);
  const paths = manifests.filter((manifest) => manifest !== '-' && !isURL(manifest)).map((path) => resolve(path));
  const guard = new PathGuard({ maxHung });
  const missing = (await Promise.all(paths.map((path) => missingPath(path, guard)))).flatMap(
    (problem) => problem ?? [],
  );
  missing.push(...urls.map(urlForPath));
  const present = paths.filter((path) => !missing.some(({ origin }) => origin === path));
  const source = new FileSource({
    paths: present,
    ...node,
    fileCheckFrequencyMs: Infinity,
    clock: systemClock,
    logger: silent,
  });
  const read = await source.read();
  const built = await buildAll(kustomizations);
  const texts = [...(stdin === undefined ? [] : [{ origin: stdinOrigin, bytes: stdin }]), ...built.texts];
  const typed = texts.map(({ bytes, origin }) => loadManifest(bytes, origin, node));
  const { dependsOnPositions: dependsOnPositions, ...all } = joinManifests([read, ...typed]);
  const startOrder = startOrderProblems(all.pods, dependsOnPositions);
  const found = [...missing, ...built.problems, ...all.problems, ...startOrder];
  const problems = withNotes ? found : withoutNotes(found);
  return { source: 'file', where: [...manifests, ...kustomizations].join(', '), ...all, problems };
}

/** Builds folders with kustomize. A failure is a problem. */
export async function buildAll(
  folders: readonly string[],
): Promise<{ texts: ManifestText[]; problems: ManifestProblem[] }> {
  const all = { texts: [] as ManifestText[], problems: [] as ManifestProblem[] };
  if (folders.length === 0) return all;
  const { buildKustomization } = await import('./build-kustomization.ts');
  for (const folder of folders) {
    const built = await buildKustomization(resolve(folder), { clock: systemClock });
    if ('bytes' in built) all.texts.push(built);
    else all.problems.push(built);
  }
  return all;
}

/** Joins the declarations of several sources. */
export function joined(updates: readonly SourceUpdate[]): SourceUpdate & { configObjects: ConfigObject[] } {
  return { source: 'file', where: updates.map(({ where }) => where).join(', '), ...joinManifests(updates) };
}

/**
 * The manifests for a command without an agent: the named ones, or else those that `run` with the same flags would
 * read.
 */
export function namedManifests(
  manifests: readonly string[],
  { manifestPaths, manifestURLs }: Pick<NodeOptions, 'manifestPaths' | 'manifestURLs'>,
): { paths: readonly string[]; urls: readonly string[] } {
  if (manifests.length > 0) return { paths: manifests, urls: [] };
  if (manifestPaths.length + manifestURLs.length > 0) return { paths: manifestPaths, urls: manifestURLs };
  throw new UserError('no manifest was named', {
    hint: 'Name files or folders, - for stdin, or a --config with staticPodPath.',
    exitCode: brokenManifestExitCode,
  });
}

/** Exit code of a command that did nothing because of errors in its manifests. */
export const brokenManifestExitCode = 2;

/** Errors in manifests, all of them. */
export class BrokenManifests extends UserError {
  readonly problems: readonly ManifestProblem[];

  /** `consequence` completes the first line of the message. */
  constructor(problems: readonly ManifestProblem[], consequence: string) {
    const list = problems.map((problem) => problemText(problem, systemClock.now())).join('\n');
    super(`broken manifest, ${consequence}\n${list}`, { exitCode: brokenManifestExitCode });
    this.problems = problems;
  }
}

/** Turns a warning into the error that it is with --strict. */
export const asError = (problem: ManifestProblem): ManifestProblem =>
  problem.severity === 'warning' ? { ...problem, severity: 'error' } : problem;

/** Throws `BrokenManifests` with all errors among the problems, if any. */
export function refuseBroken(problems: readonly ManifestProblem[], consequence: string): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  throw new BrokenManifests(errors, consequence);
}

/** Reads stdin, up to one byte more than a manifest may have. Longer input is refused by its length. */
export async function readStdin(stdin: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxManifestBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Paths that may hang at a time. Node has four threads for files. */
const maxHung = 3;

/** The problem of a missing or hung path, which must exist because it is read once and not watched. */
async function missingPath(path: string, guard: PathGuard): Promise<ManifestProblem | undefined> {
  try {
    await guard.run(path, () => stat(path));
    return undefined;
  } catch (error) {
    if (error instanceof HungPathError)
      return { origin: path, message: error.message, hint: hungHint(path), severity: 'error' };
    const message = hasCode(error, 'ENOENT') ? 'no such file or folder' : errorMessage(error);
    return { origin: path, message, severity: 'error' };
  }
}

/** Problems with the start order of all pods: dependency cycles, and dependencies that no manifest declares. */
function startOrderProblems(pods: readonly Pod[], places: readonly DependsOnPosition[]): ManifestProblem[] {
  return places.flatMap(({ podUID, ...place }) => {
    const pod = pods.find(({ metadata }) => metadata.uid === podUID);
    return pod === undefined ? [] : problemsOf(pod, pods).map((problem) => ({ ...place, ...problem }));
  });
}

function problemsOf(pod: Pod, pods: readonly Pod[]): Omit<ManifestProblem, 'origin'>[] {
  const cycle = cycleOf(pod, pods);
  if (cycle !== undefined) {
    const hint = 'None of them would ever start. Remove one of the names.';
    return [{ message: cycleText(cycle), hint, severity: 'error' }];
  }
  return dependsOn(pod)
    .filter((key) => findDependency(key, pods) === undefined)
    .map((key) => {
      const nearest = nearestName(key, pods.filter((other) => other !== pod).map(manifestKey));
      const hint = nearest === undefined ? 'The pod waits until one is.' : `Did you mean "${nearest}"?`;
      return { message: `no manifest declares pod ${key}`, hint, severity: 'warning' };
    });
}
