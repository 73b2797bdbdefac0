import type { ContainerStatus, Pod } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot, EngineView } from '../../engine/view/snapshot.ts';

type View = Pick<EngineView, 'snapshot' | 'subscribe'>;

/**
 * The engine as one run sees it: without container exits from before the run. A pod that serves keeps its UID, so its
 * first status shows how its containers exited under an earlier agent, or at a reboot.
 *
 * INVARIANT: no time is compared, because the clock may jump. The engine sets the first status of a pod before it
 * starts one of its containers, so all exits in that status happened before.
 */
export class RunView implements View {
  /** By pod UID, then by container name. */
  private readonly before = new Map<string, ReadonlyMap<string, EarlierInstances>>();

  /** Created before the engine has pods, and before this view has subscribers. */
  constructor(private readonly engine: View) {
    engine.subscribe((event) => {
      if (event.type === 'PodStatusChanged' && !this.before.has(event.pod.uid)) this.record(event.pod.uid);
    });
  }

  snapshot(): EngineSnapshot {
    const snapshot = this.engine.snapshot();
    return { ...snapshot, pods: snapshot.pods.map((entry) => ({ ...entry, pod: this.podOfRun(entry.pod) })) };
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    return this.engine.subscribe(listener);
  }

  private record(uid: string): void {
    const known = this.engine.snapshot().pods.find(({ pod }) => pod.metadata.uid === uid);
    const statuses = known === undefined ? [] : initAndRegularStatuses(known.pod.status);
    // A pod that is not admitted yet has none.
    if (statuses.length === 0) return;
    this.before.set(uid, new Map(statuses.map((status) => [status.name, earlierInstances(status)])));
  }

  private podOfRun(pod: Pod): Pod {
    const before = this.before.get(pod.metadata.uid);
    if (before === undefined || pod.status === undefined) return pod;
    const ofRun = (status: ContainerStatus): ContainerStatus => statusOfRun(status, before.get(status.name));
    const { containerStatuses: regular, initContainerStatuses: init, ...rest } = pod.status;
    return {
      ...pod,
      status: {
        ...rest,
        ...(init && { initContainerStatuses: init.map(ofRun) }),
        ...(regular && { containerStatuses: regular.map(ofRun) }),
      },
    };
  }
}

/** What a run knows about a container when it starts. */
interface EarlierInstances {
  /** Ids of the instances that no longer ran. */
  ids: ReadonlySet<string | undefined>;
  /** The exit of a lost instance has no id. Up to this restart count, it happened before the run. */
  lostUpTo: number;
}

function earlierInstances({ state, lastState, containerID, restartCount }: ContainerStatus): EarlierInstances {
  const runs = state?.running !== undefined;
  const ids = [lastState?.terminated?.containerID, state?.terminated?.containerID, runs ? undefined : containerID];
  return {
    ids: new Set(ids.filter((id) => id !== undefined)),
    // The next instance shows the exit of the one before it.
    lostUpTo: runs ? restartCount : restartCount + 1,
  };
}

/** The status without the exits from before. A container that was not started again yet is only waiting for that. */
function statusOfRun(status: ContainerStatus, before: EarlierInstances | undefined): ContainerStatus {
  if (before === undefined) return status;
  const { state, lastState, containerID, restartCount } = status;
  const isBefore = (id: string | undefined): boolean =>
    id === undefined ? restartCount <= before.lostUpTo : before.ids.has(id);
  const end = state?.terminated;
  const isEndBefore = end !== undefined && isBefore(end.containerID ?? containerID);
  const lastEnd = lastState?.terminated;
  const isLastBefore = isEndBefore || (lastEnd !== undefined && isBefore(lastEnd.containerID));
  if (!isEndBefore && !isLastBefore) return status;
  const waits = isEndBefore || (state?.waiting !== undefined && before.ids.has(containerID));
  return {
    ...status,
    ...(isEndBefore && { state: { waiting: {} } }),
    lastState: {},
    // The log of this number is that of the next instance.
    restartCount: waits ? restartCount + 1 : restartCount,
  };
}
