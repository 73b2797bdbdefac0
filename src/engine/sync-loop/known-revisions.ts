import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import type { Pod } from '../../api/types.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import type { KnownPod } from '../in-place/identify-pod.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { StatusManager } from '../status/status-manager.ts';

interface Parts {
  podManager: Pick<PodManager, 'pods'>;
  workers: Pick<PodWorkers, 'pods' | 'isPodTerminationRequested'>;
  statusManager: Pick<StatusManager, 'get'>;
  appliedRevisions: Pick<AppliedRevisions, 'named'>;
  /** True if an operator stopped the pod, and it will restart with the data in its volumes. */
  keepsVolumes: (pod: Pod) => boolean;
}

/**
 * The revisions of a declared pod that may be running, most likely first: from the last list of the source, from this
 * agent, then from an earlier agent.
 */
export function knownRevisions(
  { podManager, workers, statusManager, appliedRevisions, keepsVolumes }: Parts,
  { metadata: { namespace, name } }: Pod,
  previous: Pod | undefined,
): KnownPod[] {
  // Without `podFullName`, because each of a thousand new pods is compared with all others.
  const isNamed = ({ metadata }: Pod): boolean => metadata.name === name && metadata.namespace === namespace;
  const isOver = (pod: Pod): boolean => {
    if (keepsVolumes(pod)) return false;
    const { uid } = pod.metadata;
    const phase = statusManager.get(uid)?.phase;
    return isPodPhaseTerminal(phase) || workers.isPodTerminationRequested(uid);
  };
  const own = [...(previous === undefined ? [] : [previous]), ...podManager.pods(), ...workers.pods()].filter(isNamed);
  const uids = new Set(own.map(({ metadata }) => metadata.uid));
  const earlier = appliedRevisions.named({ namespace, name }).filter(({ metadata }) => !uids.has(metadata.uid));
  return [
    ...own.map((pod) => ({ pod, isOver: isOver(pod) })),
    // The others may have finished since.
    ...earlier.map((pod) => ({ pod, isOver: !alwaysRestarts(pod.spec) })),
  ];
}
