import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import { type PodName, podKey } from '../../api/values/pod-names.ts';
import { declaredPods, isReplicated } from '../../api/values/declared-pods.ts';
import {
  type DeclaredWorkload,
  type ReplicatedWorkload,
  workloadKey,
  type WorkloadName,
} from '../../api/values/workload.ts';
import type { Clock } from '../../clock.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import type { WantedObjects } from '../config/wanted-pods.ts';
import type { Emit } from '../view/event-bus.ts';
import type { KubeletEvent } from '../view/events.ts';
import type { WorkloadSnapshot, WorkloadStatus } from '../view/snapshot.ts';
import type { StatusOfPod } from './compute-job.ts';
import { decideJobs } from './decide-jobs.ts';
import { decideReplicas } from './decide-replicas.ts';
import { withoutEnded } from './effective-workload.ts';
import type { PodLookup } from './find-replicas.ts';
import { ownsPod } from './owns-pod.ts';
import { type OwnerOf, ownersNextTo, type PodOwner } from './pod-owner.ts';
import { RecordWrites } from './record-writes.ts';
import { ReplicaPods } from './replica-pods.ts';
import type { WorkloadDecision } from './workload-decision.ts';
import type { WorkloadRecord } from './records/workload-record.ts';
import type { WorkloadRecords } from './records/workload-records.ts';

interface Deps extends PodLookup {
  records: Pick<
    WorkloadRecords,
    'of' | 'ask' | 'remove' | 'setUndeclared' | 'setOthersUndeclared' | 'setDeclared' | 'expire'
  >;
  /** Drops the revisions of a pod that does not start again. */
  dropRevisions: (pod: PodName) => void;
  /** Returns the milliseconds since the wall clock showed this time. */
  since: (stamp: number) => number;
  emit: Emit;
  /** Requests a call of `decide` for every source with workloads. */
  requestDecision: () => void;
  clock: Pick<Clock, 'now' | 'after'>;
}

/** Timers of Node are bounded, and the wall clock may be set in the meantime. */
const maxWaitMs = 60_000;

/**
 * Executes the decisions about workloads: between the sources and PodConfig, it replaces the pods of each list that
 * belong to workloads by those that they want now. To add a kind, add its function to `compute`.
 *
 * INVARIANTS: decisions follow from manifests, records, and the state of pods, so a restart repeats them. A record is
 * on disk before a decision that needs it is executed. Without workloads nothing here runs.
 */
export class Workloads {
  /** The last executed decision of each workload, by its key. */
  private readonly decisions = new Map<string, WorkloadDecision>();
  /** The workloads of each source that has some. */
  private readonly declared = new Map<string, readonly DeclaredWorkload[]>();
  private readonly replicaPods = new ReplicaPods();
  private readonly writes: RecordWrites;
  private cancelTimer: (() => void) | undefined;
  private isRequested = false;

  constructor(private readonly deps: Deps) {
    const { records, emit } = deps;
    this.writes = new RecordWrites({
      records,
      emit,
      onWritten: () => {
        this.request();
      },
    });
  }

  /** Implements `DecideWorkloads`. */
  decide(
    source: string,
    pods: readonly Pod[],
    workloads: readonly DeclaredWorkload[],
    otherSourceOf: (pod: Pod) => string | undefined,
  ): WantedObjects {
    if (workloads.length === 0 && !this.declared.has(source)) return { pods: pods.map((pod) => ({ pod })), claims: [] };
    this.isRequested = false;
    const declared = workloads.map((workload) => this.declaredPods(workload));
    const owned = new Set(declared.flat().map(({ metadata }) => metadata.uid));
    const others = pods.filter(({ metadata }) => !owned.has(metadata.uid));
    const decisions = workloads.map((workload, index) => {
      const ownerOf = ownersNextTo(pods, declared[index] ?? [], otherSourceOf);
      const decision = this.decided(workload, ownerOf);
      // The list of another source reports a conflict with its pods.
      const isGiven = (owner: PodOwner | undefined): boolean => owner === undefined || owner.isOfOtherSource === true;
      return { ...decision, pods: decision.pods.filter(({ pod }) => isGiven(ownerOf(pod))) };
    });
    this.remember(source, workloads);
    return {
      pods: [...others.map((pod) => ({ pod })), ...decisions.flatMap((one) => [...one.pods, ...(one.taken ?? [])])],
      claims: decisions.flatMap(({ claims = [] }) => claims),
    };
  }

  /** Requests a decision if the event concerns a pod of a workload. */
  observe(event: KubeletEvent): void {
    if (this.declared.size === 0) return;
    const isOfPod =
      event.type === 'PodStatusChanged' || event.type === 'WorkerStateChanged' || event.type === 'PodRemoved';
    if (isOfPod && this.mayOwn(event.pod)) this.request();
  }

  /** Requests a decision if a workload is on its way to what it should be. Called periodically. */
  review(): void {
    this.deps.records.expire(this.deps.since);
    if (this.writes.areFailing) this.request();
    for (const { nextCheckAt } of this.decisions.values()) if (nextCheckAt !== undefined) this.request();
  }

  /**
   * Begins to drop the records of workloads that are no longer declared. Called once all sources were read. If they may
   * be wrong and declare no workload that has a record, all records stay.
   */
  retainDeclared({ maySourcesBeWrong }: { maySourcesBeWrong: boolean }): void {
    const { records, clock } = this.deps;
    records.setOthersUndeclared(new Set(this.decisions.keys()), clock.now(), maySourcesBeWrong);
  }

  /** Returns the workloads in the order of their declarations. */
  snapshot(): WorkloadSnapshot[] {
    return [...this.decisions.values()].map(({ status, pods }) => ({
      ...status,
      conditions: [...status.conditions, ...this.writes.conditionsOf(status)],
      pods: pods.map(({ pod }) => pod.metadata.name),
    }));
  }

  /** Returns the workload as its manifest declares it. Returns undefined if none does. */
  find(workload: WorkloadName): DeclaredWorkload | undefined {
    const key = workloadKey(workload);
    return [...this.declared.values()].flat().find((one) => workloadKey(one) === key);
  }

  /** True if a declared workload may have a pod of this name, even if it does not want one now. */
  ownsPod(pod: PodName): boolean {
    return [...this.declared.values()].flat().some((workload) => ownsPod(workload, pod));
  }

  /** Returns the first pod of a workload with what operators requested. */
  firstPod(declared: ReplicatedWorkload): Pod {
    return this.replicaPods.effectiveOf(declared, this.deps.records.of(declared)).template;
  }

  /** True for a pod that is stopped so that it starts again in a later revision. Its record must stay. */
  isRecreated(pod: PodName): boolean {
    return [...this.decisions.values()].some(({ recreated = [] }) => includesPod(recreated, pod));
  }

  close(): void {
    this.cancelTimer?.();
  }

  /** True if the pod's name begins with that of a workload. A mistake costs one decision that changes nothing. */
  private mayOwn(pod: PodName): boolean {
    return [...this.decisions.values()].some(
      ({ status }) => pod.namespace === status.namespace && pod.name.startsWith(`${status.name}-`),
    );
  }

  private request(): void {
    if (this.isRequested) return;
    this.isRequested = true;
    this.deps.requestDecision();
  }

  /** Returns the decision to execute. If it needs a record, the last one stays until that is on disk. */
  private decided(workload: DeclaredWorkload, ownerOf: OwnerOf): WorkloadDecision {
    const key = workloadKey(workload);
    const earlier = this.decisions.get(key);
    if (earlier !== undefined && this.writes.isPending(workload)) return earlier;
    if (earlier === undefined) this.continueRecord(workload);
    const decision = this.compute(workload, ownerOf);
    const { record, events = [] } = decision;
    const executed = record === undefined ? decision : (earlier ?? this.withoutNewPods(decision));
    this.decisions.set(key, executed);
    this.dropRevisions(earlier?.recreated, [
      ...executed.pods.map(({ pod }) => pod.metadata),
      ...(executed.recreated ?? []),
    ]);
    this.report(executed.status, earlier?.status);
    if (record !== undefined) {
      const { runsAt: begun = [] } = this.deps.records.of(workload);
      // Runs may have been requested meanwhile.
      const change = ({ runsAt = [] }: WorkloadRecord): WorkloadRecord => {
        const requested = runsAt.filter((at) => !begun.includes(at));
        return requested.length === 0 ? record : { ...record, runsAt: requested };
      };
      this.writes.write(workload, change, events);
    }
    return executed;
  }

  /**
   * The record follows the workload to another place. If its manifest was removed and added again at the same place,
   * the workload begins anew.
   */
  private continueRecord(workload: DeclaredWorkload): void {
    const undeclared = this.deps.records.setDeclared(workload);
    if (undeclared?.uid === workload.template.metadata.uid) this.deps.records.remove(workload);
  }

  /**
   * Pods of an earlier agent go on, even if it wrote no record. Those of a changed manifest are replaced, because a
   * list without them would leave them undeclared.
   */
  private withoutNewPods(decision: WorkloadDecision): WorkloadDecision {
    const known = new Set(this.deps.knownPods().map(({ metadata }) => podKey(metadata)));
    return { ...decision, pods: decision.pods.filter(({ pod }) => known.has(podKey(pod.metadata))) };
  }

  /** Drops the revisions of pods that were to be recreated, except those that still are or run again. */
  private dropRevisions(recreated: readonly PodName[] = [], kept: readonly PodName[]): void {
    for (const pod of recreated) if (!includesPod(kept, pod)) this.deps.dropRevisions(pod);
  }

  private report(status: WorkloadStatus, earlier: WorkloadStatus | undefined): void {
    if (isDeepStrictEqual(status, earlier)) return;
    const { kind, namespace, name, desired, updated, available } = status;
    this.deps.emit({ type: 'WorkloadChanged', kind, namespace, name, desired, updated, available });
  }

  /** The one place that knows which function decides about which kind. */
  private compute(workload: DeclaredWorkload, ownerOf: OwnerOf): WorkloadDecision {
    switch (workload.kind) {
      case 'CronJob':
      case 'Job':
        return decideJobs(workload, {
          record: this.deps.records.of(workload),
          earlier: this.decisions.get(workloadKey(workload)),
          ownerOf,
          ...this.podsByUID(),
          time: { now: this.deps.clock.now(), since: this.deps.since },
        });
      case 'DaemonSet':
      case 'Deployment':
      case 'ReplicaSet':
      case 'ReplicationController':
      case 'StatefulSet':
        return this.replicas(workload, ownerOf);
    }
  }

  /** Finds pods that the agent has, also while they stop. Their status is empty until the agent has read it. */
  private podsByUID(): { podOf: (uid: string) => Pod | undefined; statusOf: StatusOfPod } {
    const known = new Map(this.deps.knownPods().map((pod) => [pod.metadata.uid, pod]));
    const statusOf: StatusOfPod = (uid) => {
      const pod = known.get(uid);
      return pod && (this.deps.statusOf(pod) ?? {});
    };
    return { podOf: (uid) => known.get(uid), statusOf };
  }

  private replicas(declared: ReplicatedWorkload, ownerOf: OwnerOf): WorkloadDecision {
    const record = this.deps.records.of(declared);
    const current = withoutEnded(declared, record);
    if (current !== record) this.writes.write(declared, (newest) => withoutEnded(declared, newest));
    const workload = this.replicaPods.effectiveOf(declared, current);
    return decideReplicas(workload, {
      ...this.deps,
      declared,
      podAt: (ordinal) => this.replicaPods.podAt(workload, ordinal),
      startsAgain: (pod) => this.isRecreated(pod),
      ownerOf,
      now: this.deps.clock.now(),
    });
  }

  private declaredPods(workload: DeclaredWorkload): Pod[] {
    return isReplicated(workload) ? this.replicaPods.declaredPods(workload) : declaredPods(workload, podUIDHash);
  }

  private remember(source: string, workloads: readonly DeclaredWorkload[]): void {
    const before = this.declared.get(source) ?? [];
    if (workloads.length > 0) this.declared.set(source, workloads);
    else this.declared.delete(source);
    const keys = new Set([...this.declared.values()].flat().map(workloadKey));
    for (const one of before) {
      const key = workloadKey(one);
      if (keys.has(key)) continue;
      this.dropRevisions(this.decisions.get(key)?.recreated, []);
      this.decisions.delete(key);
      this.writes.drop(one);
      this.deps.records.setUndeclared(one, { since: this.deps.clock.now(), uid: one.template.metadata.uid });
    }
    this.cancelTimer?.();
    // A write that ends, or the review after a failed one, causes the next decision.
    const settled = [...this.decisions.values()].filter(({ status }) => !this.writes.isWaiting(status));
    const checks = settled.flatMap(({ nextCheckAt }) => nextCheckAt ?? []);
    if (checks.length === 0) this.cancelTimer = undefined;
    else {
      const waitMs = Math.min(maxWaitMs, Math.max(0, Math.min(...checks) - this.deps.clock.now()));
      this.cancelTimer = this.deps.clock.after(waitMs, () => {
        this.request();
      });
    }
  }
}

const includesPod = (pods: readonly PodName[], { namespace, name }: PodName): boolean =>
  pods.some((pod) => pod.namespace === namespace && pod.name === name);
