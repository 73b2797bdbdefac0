import type { Pod } from '../../api/types.ts';
import { sourceOf } from '../../api/values/config-annotations.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { defaultInPlacePolicy } from '../../api/values/in-place.ts';
import { readTerminationMessage } from '../../engine/kuberuntime/read-termination-message.ts';
import { readRecords } from '../../engine/operations/pod-records.ts';
import { RuntimePods } from '../../engine/kuberuntime/runtime-pods.ts';
import { mayBeRunning, type RuntimePodStatus } from '../../engine/container/runtime-pod-status.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { readUndeclared } from '../../engine/gc/undeclared-records.ts';
import { isPodDone } from '../../engine/status/done-containers.ts';
import { readStatusRecord } from '../../engine/status/status-records.ts';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import type { AppliedRevision } from '../../engine/in-place/revision-file.ts';
import { readRevision } from '../../engine/in-place/applied-revisions.ts';
import { revisionOf } from '../../engine/in-place/identify-pod.ts';
import type { Connect, RuntimeLocation } from '../runtime-connection.ts';
import { withRuntime } from '../with-runtime.ts';
import type { CurrentNode, CurrentPod } from './node-state.ts';
import type { KeptManifest } from './read-kept-manifests.ts';

interface Request extends RuntimeLocation {
  kept: readonly KeptManifest[];
  /** Snapshot of the running agent; undefined if none runs. */
  snapshot: EngineSnapshot | undefined;
  connect: Connect;
}

/** Reads the current state of the node: from its agent or, without one, from our pods in the runtime. */
export async function readCurrentNode(request: Request): Promise<CurrentNode> {
  const { rootDir, kept, snapshot } = request;
  return {
    pods: snapshot ? snapshotPods(snapshot, kept) : await runtimePods(request, kept),
    configObjects: kept.flatMap(({ configObjects }) => configObjects),
    inPlace: snapshot?.inPlace ?? defaultInPlacePolicy,
    records: new Map((await readRecords(rootDir)).map((record) => [podFullName(record), record])),
  };
}

function snapshotPods({ pods }: EngineSnapshot, kept: readonly KeptManifest[]): CurrentPod[] {
  return pods
    .filter(({ worker }) => worker.state !== 'terminating')
    .map(({ pod, source, isUndeclared }) => ({
      pod,
      source,
      ...originOf(pod, kept),
      ...(isUndeclared === true && { undeclared: 'kept' as const }),
    }));
}

async function runtimePods(request: Request, kept: readonly KeptManifest[]): Promise<CurrentPod[]> {
  const podDirs = new PodDirs(request);
  const ours = await podDirs.podUIDs();
  if (ours.length === 0) return [];
  return withRuntime(request.connect(request), async ({ runtime }) => {
    const pods = new RuntimePods({ runtime, readTerminationMessage });
    const found = ours.map(async (uid) => {
      const folder = podDirs.podDir(uid);
      const [status, revision] = [await pods.getPodStatus(uid), await readRevision(folder)];
      const isLost = status.name === '';
      if (isLost && !(await isDone(folder, revision))) return [];
      const pod = isLost && revision ? ofRevision(revision, kept) : runtimePod(status, revision, kept);
      const undeclared = await readUndeclared(folder);
      return [
        {
          ...pod,
          left: mayBeRunning(status) ? ('running' as const) : ('ended' as const),
          ...(undeclared !== undefined && { undeclared }),
        },
      ];
    });
    return (await Promise.all(found)).flat();
  });
}

/** True for a pod that has completed, so that it still counts although the runtime may have lost it. */
async function isDone(podDir: string, revision: AppliedRevision | undefined): Promise<boolean> {
  const record = await readStatusRecord(podDir);
  return revision !== undefined && record?.runsAnew === false && isPodDone(revision.pod, record.done);
}

function ofRevision({ pod }: AppliedRevision, kept: readonly KeptManifest[]): CurrentPod {
  return { pod, source: sourceOf(pod), ...originOf(pod, kept) };
}

function runtimePod(
  status: RuntimePodStatus,
  revision: AppliedRevision | undefined,
  kept: readonly KeptManifest[],
): CurrentPod {
  const { uid, name, namespace, containerStatuses } = status;
  if (revision !== undefined) return ofRevision(revision, kept);
  const manifest = kept.find(({ pods }) => pods.some(({ metadata }) => metadata.uid === uid));
  const pod = manifest?.pods.find(({ metadata }) => metadata.uid === uid);
  if (manifest && pod) return { pod, source: manifest.source, origin: manifest.where };
  const names = [...new Set(containerStatuses.map((container) => container.name))];
  return {
    pod: { metadata: { uid, name, namespace }, spec: { containers: names.map((container) => ({ name: container })) } },
    status,
    source: 'file',
  };
}

function originOf(pod: Pod, kept: readonly KeptManifest[]): { origin?: string } {
  const revision = revisionOf(pod);
  const manifest = kept.find(({ pods }) => pods.some(({ metadata }) => metadata.uid === revision));
  return manifest ? { origin: manifest.where } : {};
}
