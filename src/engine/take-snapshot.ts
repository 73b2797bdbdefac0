import type { Pod } from '../api/types.ts';
import { configAnnotations } from './config/pod-config.ts';
import type { KubeletParts } from './kubelet-parts.ts';
import type { EngineSnapshot, PodSnapshot } from './snapshot.ts';

/** What the parts of the engine know at this moment; the caller adds what never changes. */
export function takeSnapshot(
  parts: KubeletParts,
): Pick<EngineSnapshot, 'pleg' | 'sources' | 'pods'> & {
  runtime: Pick<EngineSnapshot['runtime'], 'name' | 'version' | 'error' | 'networkError'>;
} {
  const { runtimeState, pleg, eventWatch, config } = parts;
  const { lastRelistAt, lastRelistMs } = pleg;
  const error = runtimeState.error();
  const { networkError, name, version } = runtimeState;
  return {
    runtime: {
      name,
      version,
      ...(error === undefined ? {} : { error }),
      ...(networkError === undefined ? {} : { networkError }),
    },
    pleg: {
      mode: eventWatch.live === undefined ? 'generic' : 'evented',
      ...(lastRelistAt === undefined ? {} : { lastRelistAt }),
      ...(lastRelistMs === undefined ? {} : { lastRelistMs }),
    },
    sources: config.snapshot(),
    pods: knownPods(parts)
      .map((pod) => podSnapshot(parts, pod))
      .sort((a, b) => (sortKey(a.pod) < sortKey(b.pod) ? -1 : 1)),
  };
}

/** Declared pods, and those whose manifest went while they still terminate. */
function knownPods({ podManager, workers }: KubeletParts): Pod[] {
  const declared = podManager.pods();
  const uids = new Set(declared.map(({ metadata }) => metadata.uid));
  return [...declared, ...workers.pods().filter(({ metadata }) => !uids.has(metadata.uid))];
}

function podSnapshot(parts: KubeletParts, pod: Pod): PodSnapshot {
  const { statusManager, workQueue, admission, workers, pullWatch, events } = parts;
  const { uid } = pod.metadata;
  const status = statusManager.get(uid) ?? pod.status;
  const nextSyncAt = workQueue.dueAt(uid);
  const rejection = admission.rejectionOf(uid);
  const pulls = pullWatch.of(uid);
  return {
    pod: status === undefined ? pod : { ...pod, status },
    source: pod.metadata.annotations?.[configAnnotations.source] === 'http' ? 'http' : 'file',
    worker: { ...workers.snapshot(uid), ...(nextSyncAt === undefined ? {} : { nextSyncAt }) },
    ...(rejection === undefined ? {} : { rejection }),
    ...(pulls.length === 0 ? {} : { pulls }),
    events: events.eventsOf(uid),
  };
}

const sortKey = ({ metadata: { namespace, name } }: Pod): string => `${namespace}/${name}`;
