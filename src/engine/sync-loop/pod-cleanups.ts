import { sourceOf } from '../../api/values/config-annotations.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import type { BackOff } from '../../flow/back-off.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { PodEvictions } from '../eviction/pod-evictions.ts';
import type { PodGarbage } from '../gc/pod-garbage.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { PodOperations } from '../operations/pod-operations.ts';
import type { PodRevisions } from '../operations/pod-revisions.ts';
import type { InPlaceUpdates } from '../pod-start/in-place-updates.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';
import type { PodReplacements } from '../pod-start/pod-replacements.ts';
import type { PodStarter } from '../pod-start/pod-starter.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { ProberManager } from '../prober/prober-manager.ts';
import type { Services } from '../services/services.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { StatusRecords } from '../status/status-records.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { Workloads } from '../workloads/workloads.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { KubeletPodSyncer } from './pod-syncer.ts';
import type { SeenSources } from './seen-sources.ts';
import type { UndeclaredPods } from './undeclared-pods.ts';

export interface PodCleanupsDeps {
  podManager: PodManager;
  workers: PodWorkers;
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  prober: ProberManager;
  reasonCache: ReasonCache;
  syncer: Pick<KubeletPodSyncer, 'retry'>;
  events: EventBus;
  backOff: BackOff;
  imageManager: Pick<ImageManager, 'clearFailures'>;
  services: Pick<Services, 'update'>;
  evictions: PodEvictions;
  garbage: PodGarbage;
  undeclaredPods: UndeclaredPods;
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  housekeeping: Housekeeping;
  starter: PodStarter;
  inPlaceUpdates: InPlaceUpdates;
  operations: Pick<PodOperations, 'review'>;
  revisions: Pick<PodRevisions, 'review' | 'retainDeclared'>;
  workloads: Pick<Workloads, 'review' | 'retainDeclared'>;
  /** True if a source currently declares a pod with this full name. Its update may not be handled yet. */
  isNameDeclared: (fullName: string) => boolean;
  /** If true, keeps pods of an earlier agent, except earlier revisions of declared pods. */
  leaveOrphans: boolean;
}

interface Deps extends PodCleanupsDeps {
  replacements: PodReplacements;
  sources: SeenSources;
}

/** Removes what is left of pods that are no longer declared, and repeats what did not succeed before. */
export class PodCleanups {
  constructor(private readonly deps: Deps) {}

  /** Decides about the pods and records of an earlier agent. Call it once all sources are read. */
  decideAboutEarlier(): void {
    const { replacements, revisions, services } = this.deps;
    this.keepUndeclared();
    replacements.keepEarlier();
    revisions.retainDeclared();
    this.retainWorkloads();
    services.update();
  }

  /** kubelet: kubelet_pods.go HandlePodCleanups */
  run(): void {
    this.deps.housekeeping.started();
    const { podManager, workers, statusManager, prober, reasonCache, events, backOff, evictions, garbage, starter } =
      this.deps;
    this.deps.operations.review();
    this.deps.workloads.review();
    const isUpdateDue = this.deps.revisions.review();
    if (this.deps.sources.areAllSeen) this.keepUndeclared();
    else this.deps.services.update();
    const confirmed = this.deps.undeclaredPods.drainConfirmed();
    for (const uid of confirmed) {
      const pod = podManager.get(uid);
      if (pod !== undefined) this.deps.replacements.retire(pod, sourceOf(pod));
    }
    if (confirmed.length > 0) this.retainWorkloads();
    const desired = new Set(podManager.pods().map((pod) => pod.metadata.uid));

    // Step 0: restart pods that were started while they stopped, and evicted pods whose back-off is over. Remove the
    // containers and data of evicted pods.
    for (const entry of podManager.entriesWith('startsAgain')) {
      const { pod } = entry;
      const { uid } = pod.metadata;
      if (workers.has(uid) && workers.snapshot(uid).state !== 'finished') continue;
      entry.startsAgain = false;
      // The pod was stopped after the start was requested.
      this.deps.syncer.retry(uid);
      if (workers.has(uid)) workers.updatePod({ type: 'create', pod });
    }
    evictions.gc();
    for (const pod of evictions.takeDue()) {
      garbage.startFreshRemoval(pod.metadata.uid);
      workers.updatePod({ type: 'create', pod });
    }

    // Step 1: stop workers of pods that are no longer declared, and drop finished ones.
    const working = workers.syncKnownPods(desired);

    // Step 2: drop pods that are neither declared nor have a worker.
    const known = new Set([...desired, ...working.keys()]);
    statusManager.retain(known);
    this.deps.statusRecords.retain(known);
    prober.retain(known);
    reasonCache.retain(known);
    events.retain(known);

    // Step 3: start declared pods without a worker. They terminated under the same UID or waited for their earlier
    // revision.
    for (const pod of podManager.pods()) {
      const { uid } = pod.metadata;
      if (!working.has(uid) && !starter.isWaiting(uid)) starter.start(pod);
    }

    // Step 4: remove this agent's orphans in the runtime and on disk.
    const kept = this.deps.undeclaredPods.kept();
    const isSpared = (uid: string): boolean =>
      known.has(uid) ||
      this.deps.sources.mayDeclare(uid) ||
      this.deps.replacements.isRunningOn(uid) ||
      this.isLeft(uid) ||
      kept.has(uid);
    garbage.startOrphanCleanUp(isSpared);
    // A finished pod may have freed resources.
    this.deps.inPlaceUpdates.proceed();
    backOff.gc();
    this.deps.imageManager.clearFailures();

    const isPodDue = podManager.pods().some((pod) => !workers.has(pod.metadata.uid)) || evictions.areWaiting;
    const isEnding = [...working.values()].some(({ orphan }) => orphan);
    const isInPlaceDue = this.deps.inPlaceUpdates.pods().length > 0;
    if (isUpdateDue || isPodDue || isEnding || isInPlaceDue || !this.deps.sources.areAllSeen)
      this.deps.housekeeping.scheduleSoon();
  }

  /**
   * Keeps pods of an earlier agent running until an operator confirms their stop. Housekeeping starts their workers.
   */
  private keepUndeclared(): void {
    for (const pod of this.deps.undeclaredPods.decide()) this.deps.replacements.keep(pod);
  }

  /** Kept pods may belong to a workload that is declared again, whose Job must not run twice. */
  private retainWorkloads(): void {
    const { undeclaredPods, workloads } = this.deps;
    if (!undeclaredPods.keepsAny()) workloads.retainDeclared({ maySourcesBeWrong: undeclaredPods.maySourcesBeWrong() });
  }

  private isLeft(uid: string): boolean {
    if (!this.deps.leaveOrphans) return false;
    const orphan = this.deps.runtimePod(uid);
    return orphan === undefined || !this.deps.isNameDeclared(podFullName(orphan));
  }
}
