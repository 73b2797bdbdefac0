import type { ConfigObject } from '../../api/values/config-object.ts';
import type { DeclaredWorkload } from '../../api/values/workload.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { readApplied } from '../../engine/applied/applied-folder.ts';
import type { LastGood } from '../../engine/config/last-good/last-good-format.ts';
import { readLastGood } from '../../engine/config/last-good/last-good-manifests.ts';
import { loadManifest } from '../../engine/config/load-manifest.ts';

/** An object other than a pod, and the file or URL that declares it. */
export interface DeclaredObject {
  object: ConfigObject;
  where: string;
}

/** A manifest text of the agent of a root-dir. `savedAt` is when it was read or applied. */
export type SavedManifest = Pick<LastGood, 'source' | 'where' | 'body' | 'savedAt'>;

/**
 * All manifests: those of files and URLs as the agent read them last, and applied ones as they are now. Works without
 * an agent. Rejects if this user may not read the root-dir.
 */
export async function savedManifests(rootDir: string): Promise<SavedManifest[]> {
  const [read, applied] = await Promise.all([readLastGood(rootDir), readApplied(rootDir)]);
  return [
    ...read.filter(({ source }) => source !== 'applied'),
    ...applied.map(({ path, text, modifiedAt }) => {
      return { source: 'applied' as const, where: path, body: Buffer.from(text), savedAt: modifiedAt };
    }),
  ];
}

/**
 * The objects of all manifests as the agent read them last, sorted by kind, namespace and name. Works without an agent.
 * Rejects if this user may not read the root-dir.
 */
export async function declaredConfigObjects(rootDir: string, nodeName: string): Promise<DeclaredObject[]> {
  const manifests = await savedManifests(rootDir);
  const found = manifests.flatMap(({ source, where, body }) =>
    loadManifest(body, where, { nodeName }, source).configObjects.map((object) => ({ object, where })),
  );
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The workloads of all manifests as the agent read them last, and the file or URL that declares each. */
export async function declaredWorkloads(
  rootDir: string,
  nodeName: string,
): Promise<{ workload: DeclaredWorkload; where: string }[]> {
  const manifests = await savedManifests(rootDir);
  return manifests.flatMap(({ source, where, body }) =>
    (loadManifest(body, where, { nodeName }, source).workloads ?? []).map((workload) => ({ workload, where })),
  );
}

/** The source of each pod as the agent read it last, by `namespace/name`. Works without an agent. Never rejects. */
export async function lastDeclarers(
  rootDir: string,
  nodeName: string,
): Promise<ReadonlyMap<string, { source: SourceName; where: string }>> {
  const manifests = await savedManifests(rootDir).catch(() => []);
  return new Map(
    manifests.flatMap(({ source, where, body }) =>
      loadManifest(body, where, { nodeName }, source).pods.map(({ metadata }) => [podKey(metadata), { source, where }]),
    ),
  );
}

const keyOf = ({ object }: DeclaredObject): string => [object.kind, namespaceOf(object), object.name].join('/');

/** Empty for an object of the node. */
export const namespaceOf = (object: ConfigObject): string => ('namespace' in object ? object.namespace : '');
