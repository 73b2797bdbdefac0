import type { Pod } from '../../api/types.ts';
import { initAndRegularStatuses, runtimeContainerID } from '../../api/values/container-statuses.ts';
import { eachContainer } from '../../api/values/containers.ts';
import { containerHash } from '../container/container-hash.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { InPlaceUpdates } from '../pod-start/in-place-updates.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import { containerResize } from '../in-place/container-resize.ts';
import type { OutdatedResources } from '../kuberuntime/actions/compute-resize-actions.ts';
import type { PodCache } from '../pleg/pod-cache.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { SyncHandlers } from './sync-handlers.ts';

interface RunsParts {
  appliedRevisions: Pick<AppliedRevisions, 'of' | 'outdated'>;
  cache: Pick<PodCache, 'get'>;
}

interface Parts extends RunsParts {
  inPlaceUpdates: Pick<InPlaceUpdates, 'waitOf'>;
  statusManager: Pick<StatusManager, 'get'>;
  handlers: Pick<SyncHandlers, 'isOutgoing'>;
}

interface Runs {
  podStatus: RuntimePodStatus;
  applied: Pod;
  resources: OutdatedResources;
}

/** True if all running containers of a pod match its newest manifest. */
export function runsAsDeclared(parts: Parts, declared: Pod): boolean {
  const { inPlaceUpdates, statusManager, handlers } = parts;
  const { uid } = declared.metadata;
  const status = statusManager.get(uid);
  const pod = status === undefined ? declared : { ...declared, status };
  const isNewest = inPlaceUpdates.waitOf(uid) === undefined && !handlers.isOutgoing(declared);
  return isNewest && outdatedContainers(pod, declared, runsOf(parts, declared)).length === 0;
}

/** The revision of the pod that its worker applied last. */
export function runsOf({ appliedRevisions, cache }: RunsParts, declared: Pod): Runs {
  const { uid } = declared.metadata;
  return {
    podStatus: cache.get(uid),
    applied: appliedRevisions.of(uid) ?? declared,
    resources: appliedRevisions.outdated(uid),
  };
}

/**
 * Names of running containers with the image or resources of an earlier manifest of the same UID. `newest` is the
 * newest manifest, which may still wait. `applied` is the one that the worker applied last.
 */
export function outdatedContainers({ status }: Pod, newest: Pod, runs: Runs): string[] {
  const { podStatus, applied, resources } = runs;
  const outdated: string[] = [];
  const byID = new Map(podStatus.containerStatuses.map((known) => [known.id, known]));
  const newestByName = containersByName(newest);
  const appliedByName = applied.spec === newest.spec ? newestByName : containersByName(applied);
  // Compare identities first, because each snapshot compares all containers, which rarely differ.
  for (const { name, containerID, state } of initAndRegularStatuses(status)) {
    if (state?.running === undefined) continue;
    const [container, current] = [newestByName.get(name), appliedByName.get(name)];
    if (current === undefined || container === undefined) continue;
    const id = runtimeContainerID(containerID);
    const created = byID.get(id);
    const isResized = id in resources || (current !== container && containerResize(current, container) !== undefined);
    if (created?.hash !== containerHash(container) || isResized) outdated.push(name);
  }
  return outdated;
}

const containersByName = ({ spec }: Pod): ReadonlyMap<string, AnyContainer> =>
  new Map(Array.from(eachContainer(spec), ({ container }) => [container.name, container]));
type AnyContainer = ReturnType<typeof eachContainer> extends Iterable<{ container: infer C }> ? C : never;
