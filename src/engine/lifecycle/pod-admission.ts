import { allDependencies } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';
import type { ClassProblem } from '../../api/values/resolve-classes.ts';
import type { Clock } from '../../clock.ts';
import type { NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { Meter } from '../view/meter.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import { type ForeignPods, takenMessage } from '../kuberuntime/owned-runtime.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { AdmissionNews } from './admission-news.ts';
import type { Rejection } from '../view/snapshot.ts';
import { type Admission, type AdmissionNode, admitPod, type Allocate } from './admit-pod.ts';
import { portExchange, type Replacement } from './port-exchange.ts';
import { computeStartOrder } from './start-order.ts';

interface Deps {
  node: () => AdmissionNode;
  declaredPods: () => Pod[];
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

/** Why a pod does not start, and what ends the wait: a change, other pods, plugins, or the end of preempted pods. */
type Wait =
  | { for: 'change'; rejection: Rejection }
  | { for: 'pods'; message: string }
  | { for: 'devices'; sinceMonotonic: number }
  | { for: 'room'; pod: Pod; victims: Set<string> };

/** A wait that the pod's status shows. */
type Hold = Exclude<Wait, { for: 'room' | 'devices' }>;

/**
 * Decides which pods may start. Others wait for pods that must be Ready first, and then for room. kubelet: lifecycle/,
 * preemption/preemption.go
 *
 * INVARIANTS: a running pod is not judged again. Room made for a pod is reserved for it.
 */
export class PodAdmission {
  /** By UID, in the order of their beginning. */
  private readonly waits = new Map<string, Wait>();
  /** News since the last `takeDue`. */
  private readonly news = new Set<AdmissionNews>();
  /** UIDs of pods to admit again, since the last `takeDue`. */
  private readonly retried = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** Running pods first, so that they are counted before other pods are judged. */
  inOrder(pods: readonly Pod[]): Pod[] {
    const running = pods.filter(({ metadata }) => this.deps.isRunning(metadata.uid));
    return [...running, ...pods.filter((pod) => !running.includes(pod))];
  }

  /**
   * Returns true if the pod may start. Otherwise it waits, and its status shows why. Preempts others for a critical
   * pod.
   */
  admit(pod: Pod): boolean {
    const { uid } = pod.metadata;
    if (this.deps.isRunning(uid)) {
      this.forget(uid);
      this.readmit(pod);
      return true;
    }
    const alone = { current: undefined, next: pod };
    const hold = this.precedence(alone);
    if (hold !== undefined) {
      this.hold(pod, hold);
      return false;
    }
    if (this.isRoomBeingMade(uid)) return false;
    const admission = this.judge(alone, [alone], (admitted) => this.allocate(admitted));
    if (!admission.admit) {
      if (admission.rejection.reason === reasons.waitingForDevices) this.holdForDevices(pod, admission.rejection);
      else this.hold(pod, { for: 'change', rejection: admission.rejection });
      return false;
    }
    this.forget(uid);
    const isRoomThere = this.makeRoom(pod, admission);
    if (isRoomThere) this.notAwaited(uid);
    return isRoomThere;
  }

  /**
   * Returns the replacements to make so that the next revision of this pod starts: its own, and those of pods with
   * which it exchanges host ports. Returns none if it must wait; its status shows why. Judges as if the current
   * revisions had ended. Preempts no pod. `pending`: all possible replacements.
   */
  admitReplacement(replacement: Replacement, pending: () => Replacement[]): Replacement[] {
    const { next } = replacement;
    const { uid } = next.metadata;
    if (this.deps.isRunning(uid)) return [replacement];
    const decision = this.precedence(replacement) ?? this.judgeReplacement(replacement, pending);
    if (!Array.isArray(decision)) {
      this.hold(next, decision, runsOnUntilThen);
      return [];
    }
    // Its status is out of date.
    if (this.isWaiting(uid)) this.deps.statusManager.forget(uid);
    this.forget(uid);
    return decision;
  }

  /** True if the pod was not admitted and waits. */
  isWaiting(uid: string): boolean {
    return this.waits.has(uid);
  }

  /** The pods for which room is made or reserved. */
  reservedPods(): Pod[] {
    return [...this.waits.values()].flatMap((wait) => (wait.for === 'room' ? [wait.pod] : []));
  }

  /** Why the pod was not admitted. Returns undefined if it was. */
  rejectionOf(uid: string): Rejection | undefined {
    const wait = this.waits.get(uid);
    return wait?.for === 'change' ? wait.rejection : undefined;
  }

  /** Returns the pods whose wait may be over, those with reserved room first. */
  takeDue(): string[] {
    const news = new Set(this.news);
    const retried = [...this.retried].filter((uid) => this.isWaiting(uid));
    this.news.clear();
    this.retried.clear();
    const due = [
      ...retried,
      ...(news.has('node') ? this.retriedWhen('node') : []),
      ...(news.has('devices') ? this.waitingFor('devices') : []),
      ...(news.has('room')
        ? [...this.waitingFor('room'), ...this.retriedWhen('podEnd'), ...this.retriedWhen('deviceChange')]
        : []),
      ...(news.has('order') ? [...this.retriedWhen('anyManifest'), ...this.waitingFor('pods')] : []),
    ];
    return [...new Set(due)];
  }

  /** Admits these pods again if they wait. */
  retry(podUIDs: readonly string[]): void {
    for (const uid of podUIDs) this.retried.add(uid);
    this.deps.onDue();
  }

  /** Admits the pods that wait for these news again. */
  note(news: AdmissionNews): void {
    if (this.news.has(news) || this.waits.size === 0) return;
    this.news.add(news);
    this.deps.onDue();
  }

  /** Ends the wait of a pod that was removed or declared again. */
  forget(uid: string): void {
    this.waits.delete(uid);
  }

  /** The pod was removed or stopped. Plugins may still be asked for it. */
  withdraw(uid: string): void {
    this.forget(uid);
    this.deps.devices?.forget(uid);
  }

  /**
   * Why the pod must wait regardless of room: another owner has its UID, its class is not usable, or other pods come
   * first.
   */
  private precedence({ current, next }: Replacement): Hold | undefined {
    const { foreignPods, declaredPods, statusManager, classProblemOf } = this.deps;
    const { uid } = next.metadata;
    const holder = foreignPods.holderOf(uid);
    if (holder !== undefined) {
      const message = takenMessage(uid, holder);
      return { for: 'change', rejection: { reason: reasons.podUIDTaken, message, retryOn: 'podEnd' } };
    }
    const problem = classProblemOf(next);
    if (problem !== undefined) {
      const reason = problem.isMissing ? reasons.unknownClass : reasons.classConflict;
      const message = `${problem.field}: ${problem.message}`;
      return { for: 'change', rejection: { reason, message, retryOn: 'anyManifest' } };
    }
    // As if its current revision had ended.
    const others = declaredPods().filter(({ metadata }) => metadata.uid !== current?.metadata.uid);
    const order = computeStartOrder(next, others, ({ metadata }) => statusManager.get(metadata.uid));
    switch (order.decision) {
      case 'start':
        return undefined;
      case 'wait':
        return { for: 'pods', message: order.message };
      case 'refuse':
        return { for: 'change', rejection: order.rejection };
    }
  }

  /** True if preempted pods of this one still run. */
  private isRoomBeingMade(uid: string): boolean {
    const wait = this.waits.get(uid);
    return wait?.for === 'room' && this.deps.activePods().some(({ metadata }) => wait.victims.has(metadata.uid));
  }

  private judgeReplacement(replacement: Replacement, pending: () => Replacement[]): Replacement[] | Hold {
    const alone = this.judge(replacement);
    if (alone.admit) return [replacement];
    const together = portExchange(replacement, pending());
    const isAdmitted = (one: Replacement): boolean =>
      this.precedence(one) === undefined && this.judge(one, together).admit;
    if (together.length > 1 && together.every(isAdmitted)) return together;
    return { for: 'change', rejection: alone.rejection };
  }

  /** Judges the pod beside all active ones, as if these replacements were made. */
  private judge(
    replacement: Replacement,
    together: readonly Replacement[] = [replacement],
    allocate?: Allocate,
  ): Admission {
    const { activePods, declaredPods, node } = this.deps;
    const { next } = replacement;
    const stopped = new Set([next, ...together.flatMap(({ current }) => current ?? [])].map(uidOf));
    const atWork = [...activePods(), ...this.reservedPods()].filter((other) => !stopped.has(uidOf(other)));
    const started = together.map((other) => other.next).filter((other) => uidOf(other) !== uidOf(next));
    // The pod depends on these, so they are not preempted for it.
    const needed = new Set([...allDependencies(next, declaredPods())].map(uidOf));
    return admitPod(next, [...atWork, ...started], node(), needed, allocate);
  }

  /** kubelet: cm/topologymanager/scope.go Admit */
  private allocate(pod: Pod): ReturnType<Allocate> {
    const { devices } = this.deps;
    if (devices?.concerns(pod) === true) {
      const wait = this.waits.get(pod.metadata.uid);
      const result = devices.admit(pod);
      if (result === undefined) return waitsForDevices;
      this.measure(result, wait?.for === 'devices' ? wait.sinceMonotonic : this.deps.clock.monotonic());
      if (result.admit) return undefined;
      const { reason, message } = result;
      return { reason, message, retryOn: 'deviceChange' };
    }
    const result = this.aligned((resources) => resources.admit(pod));
    return result === undefined || result.admit ? undefined : { reason: result.reason, message: result.message };
  }

  /** While plugins are asked. */
  private holdForDevices(pod: Pod, { reason, message }: Rejection): void {
    const { uid } = pod.metadata;
    if (this.waits.get(uid)?.for === 'devices') return;
    this.deps.statusManager.wait(pod, { reason, message });
    this.waits.set(uid, { for: 'devices', sinceMonotonic: this.deps.clock.monotonic() });
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

  private waitingFor(what: Wait['for']): string[] {
    return [...this.waits].filter(([, wait]) => wait.for === what).map(([uid]) => uid);
  }

  private retriedWhen(change: Rejection['retryOn']): string[] {
    return this.waitingFor('change').filter((uid) => this.rejectionOf(uid)?.retryOn === change);
  }

  /**
   * Sets the pod's status and event for its wait. `meanwhile` is added to the message. kubelet: kubelet.go rejectPod
   */
  private hold(pod: Pod, hold: Hold, meanwhile?: string): void {
    const { statusManager, foreignPods, emit } = this.deps;
    const { uid } = pod.metadata;
    const before = this.waits.get(uid);
    this.forget(uid);
    if (hold.for === 'pods') {
      const message = withMeanwhile(hold.message, meanwhile);
      this.waits.set(uid, { for: 'pods', message });
      statusManager.wait(pod, { reason: reasons.waitingForPods, message });
      if (before?.for !== 'pods') podEventRecorder(emit, pod).normal(reasons.waitingForPods, message);
      return;
    }
    const rejection = { ...hold.rejection, message: withMeanwhile(hold.rejection.message, meanwhile) };
    const { reason, message } = rejection;
    this.waits.set(uid, { for: 'change', rejection });
    if (reason === reasons.podUIDTaken) foreignPods.awaitFreeing(uid, () => this.rejectionOf(uid)?.reason === reason);
    statusManager.reject(pod, rejection);
    const isNews = before?.for !== 'change' || before.rejection.reason !== reason;
    if (!isNews) return;
    podEventRecorder(emit, pod).warning(reason, message);
    this.deps.meter?.count('kubelet_admission_rejections_total', { reason: rejectionLabel(reason) });
  }

  /** Returns true if no pod has to end first. A victim that has not started only gives up its reserved room. */
  private makeRoom(pod: Pod, { preempt: victims, missing = [] }: Extract<Admission, { admit: true }>): boolean {
    const active = new Set(this.deps.activePods().map(uidOf));
    const ending = victims.filter((victim) => active.has(uidOf(victim)));
    if (ending.length > 0) this.waits.set(uidOf(pod), { for: 'room', pod, victims: new Set(ending.map(uidOf)) });
    for (const victim of victims) {
      if (this.waits.get(uidOf(victim))?.for === 'room') this.giveUpRoom(victim, missing);
      else if (!this.deps.isTerminating(uidOf(victim))) this.preempt(victim, missing);
    }
    return ending.length === 0;
  }

  private giveUpRoom(victim: Pod, missing: readonly string[]): void {
    this.countPreemption(missing);
    const rejection = { reason: reasons.preempting, message: preemptedMessage, retryOn: 'podEnd' } as const;
    this.hold(victim, { for: 'change', rejection });
  }

  /** The pod had ended, so no wait for its end remains. */
  private notAwaited(uid: string): void {
    for (const wait of this.waits.values()) if (wait.for === 'room') wait.victims.delete(uid);
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

const waitsForDevices = {
  reason: reasons.waitingForDevices,
  message: 'Device plugins are allocating its devices',
  retryOn: 'deviceChange',
} as const;

function withMeanwhile(message: string, meanwhile: string | undefined): string {
  return meanwhile === undefined ? message : `${message.replace(/[. ]+$/, '')}; ${meanwhile}`;
}
