import { loadManifests, type Manifests } from '../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import { workloadKey } from '../../api/values/workload.ts';
import type { LastGood } from '../../engine/config/last-good/last-good-format.ts';
import { readLastGood } from '../../engine/config/last-good/last-good-manifests.ts';
import { podUIDHash } from '../../engine/config/load-manifest.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { readWorkloadRecords } from '../../engine/workloads/records/workload-records.ts';
import { type KnownWorkloads, withWorkloadPods } from './with-workload-pods.ts';

/** A manifest as the agent last read it, with its declarations. */
export type KeptManifest = LastGood & Manifests;

interface Request extends Omit<StaticPodNode, 'rootDir'> {
  rootDir: string;
  /** Snapshot of the running agent; undefined if none runs. */
  snapshot: EngineSnapshot | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Reads the manifests as the agent last read them, with the pods of their workloads, and what it recorded of these. */
export async function readKeptManifests(
  request: Request,
): Promise<{ manifests: KeptManifest[]; workloads: KnownWorkloads }> {
  const { rootDir, nodeName, featureGates, snapshot, now } = request;
  const kept = (await readLastGood(rootDir)).map((entry): KeptManifest => {
    const { body, source, where } = entry;
    return { ...entry, ...loadManifests(body, { origin: where, nodeName, featureGates, source, hash: podUIDHash }) };
  });
  const declared = kept.flatMap(({ workloads = [] }) => workloads);
  const statuses = new Map(snapshot?.pods.map(({ pod }) => [pod.metadata.uid, pod.status]));
  const workloads: KnownWorkloads = {
    records: new Map((await readWorkloadRecords(rootDir)).map((record) => [workloadKey(record), record])),
    declared: new Map(declared.map((workload) => [workloadKey(workload), workload])),
    // Without an agent, what its records name exists.
    statusOf: (uid) => (snapshot === undefined ? {} : statuses.get(uid)),
    now,
  };
  return { manifests: kept.map((manifest) => withWorkloadPods(manifest, workloads)), workloads };
}
