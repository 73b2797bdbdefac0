import { allDependencies } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';
import type { ClassProblem } from '../../api/values/resolve-classes.ts';
import type { Clock } from '../../clock.ts';
import type { NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { ForeignPods } from '../kuberuntime/owned-runtime.ts';
import {
  type Admission,
  type AdmissionNode,
  admitPod,
  reachesAllocation,
  type Refusal,
} from '../lifecycle/admit-pod.ts';
import { portExchange, type Replacement } from '../lifecycle/port-exchange.ts';
import { computeStartOrder } from '../lifecycle/start-order.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { Meter } from '../view/meter.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import type { Rejection } from '../view/snapshot.ts';
import type { AdmissionNews } from './admission-news.ts';
import {
  type AdmissionFacts,
  computePodStart,
  type EarlierRevision,
  endedBy,
  type ImageState,
  type PodWait,
  type RetryOn,
  type StartFacts,
  waitsForChange,
} from './compute-pod-start.ts';
import type { PodEntry } from './pod-entry.ts';
import type { PodManager } from './pod-manager.ts';

/** What the engine knows and does for the start of a pod. */
export interface StartEngine {
  /** True if an operator stopped the pod. */
  isStopped: (pod: Pod) => boolean;
  /** True if everything of the pod's last run must be removed before it starts. */
  mustRunAnew: (pod: Pod) => boolean;
  /** True if all containers of the pod are done. */
  isDone: (pod: Pod) => boolean;
  earlierOf: (pod: Pod) => EarlierRevision | undefined;
  /** The possible replacements of running revisions. */
  replacementsToMake: () => Replacement[];
  imagesOf: (pod: Pod) => ImageState;
  pull: (pod: Pod) => void;
  stopEarlier: (pods: readonly Pod[]) => void;
  /** Starts the pod's worker. */
  launch: (pod: Pod) => void;
  endLastRun: (pod: Pod) => void;
  keepStopped: (pod: Pod) => void;
}

interface Deps {
  podManager: PodManager;
  engine: () => StartEngine;
  node: () => AdmissionNode;
  /** Declared pods whose containers may run. */
  activePods: () => Pod[];
  /** True if a container of the pod runs. */
  isRunning: (uid: string) => boolean;
  /** True if the pod is being stopped. */
  isTerminating: (uid: string) => boolean;
  /** Ends a pod to make room. */
  killPod: (victim: Pod) => void;
  /** CPUs and memory nodes of pods. Undefined if nothing is allocated to pods. */
  podResources?: Resources | undefined;
  /** Devices of plugins. Undefined if the node takes none. */
  devices?: Pick<NodeDevices, 'concerns' | 'admit' | 'forget'> | undefined;
  /** Why a declared pod must not start with the class that it names. */
  classProblemOf: (pod: Pod) => ClassProblem | undefined;
  foreignPods: Pick<ForeignPods, 'holderOf' | 'awaitFreeing'>;
  statusManager: StatusManager;
  clock: Clock;
  emit: Emit;
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
  /** Called when rejected pods must be admitted again. */
  onDue: () => void;
}

type Resources = Pick<PodResources, 'admit' | 'readmit'>;

/**
 * Starts declared pods as `computePodStart` decides, and starts those again whose wait is over. kubelet: lifecycle/,
 * preemption/preemption.go
 *
 * INVARIANTS: a running pod is not judged again. Room made for a pod is reserved for it.
 */
export class PodStarter {
  /** News since the last `takeDue`. */
  private readonly news = new Set<AdmissionNews>();

  constructor(private readonly deps: Deps) {}

  /** Running pods first, so that they are counted before other pods are judged. */
  inOrder(pods: readonly Pod[]): Pod[] {
    const running = pods.filter(({ metadata }) => this.deps.isRunning(metadata.uid));
    return [...running, ...pods.filter((pod) => !running.includes(pod))];
  }

  /** Takes the steps towards the start of a declared pod that are possible now. */
  start({ metadata: { uid } }: Pod): void {
    const entry = this.deps.podManager.entry(uid);
    if (entry === undefined) return;
    const attempt: Attempt = { allocation: 'due' };
    while (this.takeStep(entry, attempt));
  }

  /** True if the pod waits for a change, so that nothing else need try to start it. */
  isWaiting(uid: string): boolean {
    return waitsForChange(this.waitOf(uid));
  }

  /** True if the pod has not started yet. */
  isHeldBack(uid: string): boolean {
    return this.waitOf(uid) !== undefined;
  }

  /** The pods for which room is made or reserved. */
  reservedPods(): Pod[] {
    return this.waitingFor('victims').map(({ pod }) => pod);
  }

  /** Why the pod was not admitted. Returns undefined if it was. */
  rejectionOf(uid: string): Rejection | undefined {
    const wait = this.waitOf(uid);
    return isRejection(wait) ? { reason: wait.reason, message: wait.message, retryOn: wait.retryOn } : undefined;
  }

  /** Returns the pods whose wait may be over, those with reserved room first. */
  takeDue(): string[] {
    const retried = this.deps.podManager.entries().filter((entry) => entry.isRetried === true);
    for (const entry of retried) entry.isRetried = false;
    const news = (['node', 'devices', 'room', 'order'] as const).filter((one) => this.news.delete(one));
    const due = [
      ...retried.filter(({ wait }) => waitsForChange(wait)),
      ...news.flatMap((one) => endedBy[one].flatMap((retryOn) => this.waitingFor(retryOn))),
    ];
    return [...new Set(due.map(({ pod }) => pod.metadata.uid))];
  }

  /** Admits these pods again if they wait. */
  retry(podUIDs: readonly string[]): void {
    for (const uid of podUIDs) {
      const entry = this.deps.podManager.entry(uid);
      if (entry !== undefined) entry.isRetried = true;
    }
    this.deps.onDue();
  }

  /** Admits the pods that wait for these news again. */
  note(news: AdmissionNews): void {
    if (this.news.has(news) || !this.deps.podManager.entries().some(({ wait }) => waitsForChange(wait))) return;
    this.news.add(news);
    this.deps.onDue();
  }

  /** The pod was removed or stopped. Plugins may still be asked for it. */
  withdraw(uid: string): void {
    const entry = this.deps.podManager.entry(uid);
    if (entry !== undefined) entry.wait = undefined;
    this.deps.devices?.forget(uid);
  }

  /** Returns true if the rest is to be decided again. */
  private takeStep(entry: PodEntry, attempt: Attempt): boolean {
    const { statusManager } = this.deps;
    const engine = this.deps.engine();
    const { pod } = entry;
    const facts = new ReadFacts(this.deps, entry, attempt, this.reservedPods());
    const plan = computePodStart(entry, facts);
    switch (plan.do) {
      case 'wait':
        this.wait(entry, plan.wait, facts.earlier === undefined ? undefined : runsOnUntilThen);
        return false;
      case 'allocate':
        this.allocate(entry, attempt);
        return true;
      case 'preempt':
        return this.makeRoom(entry, plan);
      case 'pull':
      case 'stopEarlier': {
        // It was admitted, so its status is out of date.
        if (waitsForChange(entry.wait)) statusManager.forget(pod.metadata.uid);
        entry.wait = undefined;
        if (plan.do === 'stopEarlier') {
          engine.stopEarlier(plan.of);
          return true;
        }
        // Pulls the images in parallel.
        for (const one of plan.pods) engine.pull(one);
        this.wait(entry, { retryOn: 'images' });
        return false;
      }
      case 'stop':
        this.withdraw(pod.metadata.uid);
        engine.keepStopped(pod);
        return false;
      case 'endLastRun':
        entry.wait = undefined;
        engine.endLastRun(pod);
        return false;
      case 'keep':
      case 'start':
        entry.wait = undefined;
        if (plan.do === 'keep') this.readmit(pod);
        else this.notAwaited(pod.metadata.uid);
        engine.launch(pod);
        return false;
    }
  }

  /** kubelet: cm/topologymanager/scope.go Admit */
  private allocate({ pod, wait }: PodEntry, attempt: Attempt): void {
    const { devices } = this.deps;
    if (devices?.concerns(pod) !== true) {
      const result = this.aligned((resources) => resources.admit(pod));
      attempt.allocation = 'done';
      if (result?.admit === false) attempt.refusal = { reason: result.reason, message: result.message };
      return;
    }
    const result = devices.admit(pod);
    attempt.allocation = result === undefined ? 'pending' : 'done';
    if (result === undefined) return;
    this.measure(result, wait?.retryOn === 'allocation' ? wait.sinceMonotonic : this.deps.clock.monotonic());
    if (result.admit) return;
    const { reason, message } = result;
    attempt.refusal = { reason, message, retryOn: 'deviceChange' };
  }

  /** A running pod is allocated its resources again, as after a restart of the agent. It runs on if it is refused. */
  private readmit(pod: Pod): void {
    const result = this.aligned((resources) => resources.readmit(pod));
    if (result === undefined || result.admit) return;
    const { reason, message } = result;
    podEventRecorder(this.deps.emit, pod).warning(reason, `${message}. It runs on, with shared CPUs`);
  }

  /** Without managers of resources every pod is admitted. */
  private aligned<Result extends { admit: boolean }>(admit: (resources: Resources) => Result): Result | undefined {
    const { podResources, clock } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    const result = podResources && admit(podResources);
    this.measure(result, startedAtMonotonic);
    return result;
  }

  private measure(result: { admit: boolean } | undefined, startedAtMonotonic: number): void {
    const { meter, clock } = this.deps;
    meter?.count('kubelet_topology_manager_admission_requests_total', {});
    if (result?.admit === false) meter?.count('kubelet_topology_manager_admission_errors_total', {});
    meter?.observe('kubelet_topology_manager_admission_duration_ms', clock.monotonic() - startedAtMonotonic, {});
  }

  private waitOf(uid: string): PodEntry['wait'] {
    return this.deps.podManager.entry(uid)?.wait;
  }

  /** In the order of the beginning of their waits. */
  private waitingFor(retryOn: RetryOn): PodEntry[] {
    return this.deps.podManager
      .entries()
      .filter(({ wait }) => wait?.retryOn === retryOn)
      .sort((a, b) => (a.wait?.sinceMonotonic ?? 0) - (b.wait?.sinceMonotonic ?? 0));
  }

  /**
   * Notes the wait, and shows it in the pod's status and events. `meanwhile` is added to the message. kubelet:
   * kubelet.go rejectPod
   */
  private wait(entry: PodEntry, wait: PodWait, meanwhile?: string): void {
    const { statusManager, clock } = this.deps;
    const { pod, wait: before } = entry;
    if (wait === before) return;
    const isSame = before?.retryOn === wait.retryOn;
    const shown = 'message' in wait ? { ...wait, message: withMeanwhile(wait.message, meanwhile) } : wait;
    entry.wait = { ...shown, sinceMonotonic: isSame ? before.sinceMonotonic : clock.monotonic() };
    if (!('message' in shown)) return;
    if (isRejection(shown)) {
      this.reject(pod, shown, isRejection(before) && before.reason === shown.reason);
      return;
    }
    if (shown.retryOn === 'allocation' && isSame) return;
    statusManager.wait(pod, shown);
    if (shown.retryOn === 'podReady' && !isSame)
      podEventRecorder(this.deps.emit, pod).normal(shown.reason, shown.message);
  }

  private reject(pod: Pod, rejection: Rejection, isKnown: boolean): void {
    const { statusManager, foreignPods, emit, meter } = this.deps;
    const { uid } = pod.metadata;
    const { reason, message } = rejection;
    if (reason === reasons.podUIDTaken) foreignPods.awaitFreeing(uid, () => this.rejectionOf(uid)?.reason === reason);
    statusManager.reject(pod, rejection);
    if (isKnown) return;
    podEventRecorder(emit, pod).warning(reason, message);
    meter?.count('kubelet_admission_rejections_total', { reason: rejectionLabel(reason) });
  }

  /** Returns true if no pod has to end first. A victim that has not started only gives up its reserved room. */
  private makeRoom(entry: PodEntry, { victims, missing }: Preemption): boolean {
    const active = new Set(this.deps.activePods().map(uidOf));
    const ending = victims.filter((victim) => active.has(uidOf(victim)));
    entry.wait = undefined;
    if (ending.length > 0) this.wait(entry, { retryOn: 'victims', victims: new Set(ending.map(uidOf)) });
    for (const victim of victims) {
      const reserving = this.deps.podManager.entry(uidOf(victim));
      if (reserving?.wait?.retryOn === 'victims') this.giveUpRoom(reserving, missing);
      else if (!this.deps.isTerminating(uidOf(victim))) this.preempt(victim, missing);
    }
    return ending.length === 0;
  }

  private giveUpRoom(victim: PodEntry, missing: readonly string[]): void {
    this.countPreemption(missing);
    this.wait(victim, { reason: reasons.preempting, message: preemptedMessage, retryOn: 'podEnd' });
  }

  /** The pod had ended, so no wait for its end remains. */
  private notAwaited(uid: string): void {
    for (const { wait } of this.waitingFor('victims')) if (wait?.retryOn === 'victims') wait.victims.delete(uid);
  }

  /** kubelet: preemption/preemption.go evictPodsToFreeRequests */
  private preempt(victim: Pod, missing: readonly string[]): void {
    const { statusManager, emit, killPod, clock } = this.deps;
    this.countPreemption(missing);
    podEventRecorder(emit, victim).warning(reasons.preempting, preemptedMessage);
    statusManager.evict(victim, {
      reason: reasons.preempting,
      message: preemptedMessage,
      disruption: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      now: clock.now(),
    });
    killPod(victim);
  }

  private countPreemption(missing: readonly string[]): void {
    this.deps.meter?.count('kubelet_preemptions', { preemption_signal: missing.join(',') });
  }
}

/** Extended resources share a label. kubelet: lifecycle/handlers.go recordAdmissionRejection */
function rejectionLabel(reason: string): string {
  const isExtended = reason.startsWith('OutOf') && !ownResources.has(reason.slice('OutOf'.length));
  return isExtended ? 'OutOfExtendedResources' : reason;
}

const ownResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pods']);

const uidOf = ({ metadata }: Pod): string => metadata.uid;

const preemptedMessage = 'Preempted in order to admit critical pod';

type Preemption = Extract<ReturnType<typeof computePodStart>, { do: 'preempt' }>;

/** One attempt to start a pod, with what was asked in it. */
interface Attempt {
  allocation: StartFacts['allocation'];
  refusal?: Refusal;
}

/** Reads each fact when it is needed, because some of them cost a comparison with all other pods. */
class ReadFacts implements StartFacts {
  readonly earlier: EarlierRevision | undefined;
  private readonly engine: StartEngine;
  private readonly pod: Pod;
  private readonly replacement: Replacement;

  constructor(
    private readonly deps: Deps,
    private readonly entry: PodEntry,
    private readonly attempt: Attempt,
    private readonly reservedPods: readonly Pod[],
  ) {
    this.pod = entry.pod;
    this.engine = deps.engine();
    this.earlier = this.engine.earlierOf(this.pod);
    this.replacement = { current: this.earlier?.current, next: this.pod };
  }

  get isStopped(): boolean {
    return this.engine.isStopped(this.pod);
  }

  get runsAnew(): boolean {
    return this.engine.mustRunAnew(this.pod);
  }

  get isRunning(): boolean {
    return this.deps.isRunning(uidOf(this.pod));
  }

  get isDone(): boolean {
    return this.engine.isDone(this.pod);
  }

  get images(): ImageState {
    return this.engine.imagesOf(this.pod);
  }

  get uidOwner(): string | undefined {
    return this.deps.foreignPods.holderOf(uidOf(this.pod));
  }

  get classProblem(): ClassProblem | undefined {
    return this.deps.classProblemOf(this.pod);
  }

  get order(): StartFacts['order'] {
    return this.orderOf(this.replacement);
  }

  get areVictimsRunning(): boolean {
    const { wait } = this.entry;
    return wait?.retryOn === 'victims' && this.deps.activePods().some((pod) => wait.victims.has(uidOf(pod)));
  }

  get allocation(): StartFacts['allocation'] {
    const { allocation } = this.attempt;
    return allocation === 'due' && !reachesAllocation(this.pod, this.deps.node()) ? 'done' : allocation;
  }

  get admission(): Admission {
    return this.judge(this.replacement, [this.replacement], this.attempt.refusal);
  }

  get exchange(): StartFacts['exchange'] {
    const together = portExchange(this.replacement, this.engine.replacementsToMake());
    if (together.length === 1) return [];
    return together.map((one) => ({
      pod: one.next,
      images: this.engine.imagesOf(one.next),
      ...this.admissionOf(one, together),
    }));
  }

  private admissionOf(one: Replacement, together: readonly Replacement[]): AdmissionFacts {
    return {
      uidOwner: this.deps.foreignPods.holderOf(uidOf(one.next)),
      classProblem: this.deps.classProblemOf(one.next),
      order: this.orderOf(one),
      admission: this.judge(one, together),
    };
  }

  /** As if the current revision had ended. */
  private orderOf({ current, next }: Replacement): StartFacts['order'] {
    const { podManager, statusManager } = this.deps;
    const others = podManager.pods().filter((other) => current === undefined || uidOf(other) !== uidOf(current));
    return computeStartOrder(next, others, (pod) => statusManager.get(uidOf(pod)));
  }

  /** Judges the pod beside all active ones, as if these replacements were made. */
  private judge({ next }: Replacement, together: readonly Replacement[], refusal?: Refusal): Admission {
    const { activePods, podManager, node } = this.deps;
    const stopped = new Set([next, ...together.flatMap(({ current }) => current ?? [])].map(uidOf));
    const atWork = [...activePods(), ...this.reservedPods].filter((other) => !stopped.has(uidOf(other)));
    const started = together.map((other) => other.next).filter((other) => uidOf(other) !== uidOf(next));
    // The pod depends on these, so they are not preempted for it.
    const needed = new Set([...allDependencies(next, podManager.pods())].map(uidOf));
    return admitPod(next, [...atWork, ...started], node(), needed, refusal);
  }
}

function isRejection(wait: PodWait | undefined): wait is Rejection {
  return wait !== undefined && 'reason' in wait && wait.retryOn !== 'podReady' && wait.retryOn !== 'allocation';
}

function withMeanwhile(message: string, meanwhile: string | undefined): string {
  return meanwhile === undefined ? message : `${message.replace(/[. ]+$/, '')}; ${meanwhile}`;
}
