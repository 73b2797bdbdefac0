import { allDependencies } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import { type ForeignPods, takenMessage } from '../kuberuntime/owned-runtime.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { AdmissionNews } from './admission-news.ts';
import type { Rejection } from '../view/snapshot.ts';
import { type Admission, type AdmissionNode, admitPod } from './admit-pod.ts';
import { portExchange, type Replacement } from './port-exchange.ts';
import { computeStartOrder } from './start-order.ts';

interface Deps {
  node: () => AdmissionNode;
  declaredPods: () => Pod[];
  /** Declared pods whose containers may run. */
  activePods: () => Pod[];
  /** Something of the pod runs. */
  isRunning: (uid: string) => boolean;
  /** Ends a pod to make room. */
  killPod: (victim: Pod) => void;
  foreignPods: Pick<ForeignPods, 'holderOf' | 'awaitFreeing'>;
  statusManager: StatusManager;
  clock: Clock;
  emit: Emit;
  /** Pods that were not admitted are to be asked again. */
  onDue: () => void;
}

/** Why a pod does not start, and what ends that: a change, the pods before it, or the end of pods that go for it. */
type Wait =
  | { for: 'change'; rejection: Rejection }
  | { for: 'pods'; message: string }
  | { for: 'room'; pod: Pod; victims: Set<string> };

/** A wait that shows in the status of the pod. */
type Hold = Exclude<Wait, { for: 'room' }>;

/**
 * Which pods may start, and which wait until something changes: for pods that have to be Ready before them, then for room.
 * kubelet: lifecycle/, preemption/preemption.go
 *
 * INVARIANTS: a pod that runs already is not judged again; room that is made for a pod is that pod's.
 */
export class PodAdmission {
  private readonly deps: Deps;
  /** By UID, in the order in which they began to wait. */
  private readonly waits = new Map<string, Wait>();
  /** What happened since pods were taken to be admitted again. */
  private readonly news = new Set<AdmissionNews>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What runs already is counted before it is decided what else there is room for. */
  inOrder(pods: readonly Pod[]): Pod[] {
    const running = pods.filter(({ metadata }) => this.deps.isRunning(metadata.uid));
    return [...running, ...pods.filter((pod) => !running.includes(pod))];
  }

  /** Lets the pod start now, or wait, and its status says why. Makes room for a critical pod. True if it may start. */
  admit(pod: Pod): boolean {
    const { uid } = pod.metadata;
    if (this.deps.isRunning(uid)) {
      this.forget(uid);
      return true;
    }
    const alone = { current: undefined, next: pod };
    const hold = this.precedence(alone);
    if (hold !== undefined) {
      this.hold(pod, hold);
      return false;
    }
    if (this.isRoomBeingMade(uid)) return false;
    const admission = this.judge(alone);
    if (!admission.admit) {
      this.hold(pod, { for: 'change', rejection: admission.rejection });
      return false;
    }
    this.forget(uid);
    if (admission.preempt.length > 0) this.makeRoom(pod, admission.preempt);
    else this.notAwaited(uid);
    return admission.preempt.length === 0;
  }

  /**
   * Returns the replacements to make so that the next revision of this one starts: it, and those of pods with which it
   * exchanges host ports. Returns none if it may not start: it waits then, its status says why, and nothing is to be stopped
   * for it. Decided as if those that run were gone already; nothing is ended for it. `pending`: all that could be made.
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
    // What its status said is out of date.
    if (this.isWaiting(uid)) this.deps.statusManager.forget(uid);
    this.forget(uid);
    return decision;
  }

  /** True if the pod was not admitted, and a change is awaited. */
  isWaiting(uid: string): boolean {
    return this.waits.has(uid);
  }

  /** Why the pod was not admitted. */
  rejectionOf(uid: string): Rejection | undefined {
    const wait = this.waits.get(uid);
    return wait?.for === 'change' ? wait.rejection : undefined;
  }

  /** Takes the pods whose wait may be over by the news so far, first the ones for which room is made. */
  takeDue(): string[] {
    const news = new Set(this.news);
    this.news.clear();
    return [
      ...(news.has('node') ? this.retriedWhen('the node takes pods again') : []),
      ...(news.has('room') ? [...this.waitingFor('room'), ...this.retriedWhen('a pod ends')] : []),
      ...(news.has('order') ? [...this.retriedWhen('manifests change'), ...this.waitingFor('pods')] : []),
    ];
  }

  /** The pods that wait for this are to be admitted again. */
  note(news: AdmissionNews): void {
    if (this.news.has(news) || this.waits.size === 0) return;
    this.news.add(news);
    this.deps.onDue();
  }

  /** The pod is no longer declared, or is declared anew. */
  forget(uid: string): void {
    this.waits.delete(uid);
  }

  /** Why the pod has to wait, whatever room there is: another owner has its UID, or pods come first. */
  private precedence({ current, next }: Replacement): Hold | undefined {
    const { foreignPods, declaredPods, statusManager } = this.deps;
    const { uid } = next.metadata;
    const holder = foreignPods.holderOf(uid);
    if (holder !== undefined) {
      const message = takenMessage(uid, holder);
      return { for: 'change', rejection: { reason: reasons.podUIDTaken, message, retriedWhen: 'a pod ends' } };
    }
    // As if its current revision were gone.
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

  /** Pods that go for this one are still at work. */
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

  /** Beside all that is at work, as if these replacements were made. */
  private judge(replacement: Replacement, together: readonly Replacement[] = [replacement]): Admission {
    const { activePods, declaredPods, node } = this.deps;
    const { next } = replacement;
    const stopped = new Set([next, ...together.flatMap(({ current }) => current ?? [])].map(uidOf));
    const reserved = [...this.waits.values()].flatMap((wait) => (wait.for === 'room' ? [wait.pod] : []));
    const atWork = [...activePods(), ...reserved].filter((other) => !stopped.has(uidOf(other)));
    const started = together.map((other) => other.next).filter((other) => uidOf(other) !== uidOf(next));
    // Without these the pod would wait again.
    const needed = new Set([...allDependencies(next, declaredPods())].map(uidOf));
    return admitPod(next, [...atWork, ...started], node(), needed);
  }

  private waitingFor(what: Wait['for']): string[] {
    return [...this.waits].filter(([, wait]) => wait.for === what).map(([uid]) => uid);
  }

  private retriedWhen(change: Rejection['retriedWhen']): string[] {
    return this.waitingFor('change').filter((uid) => this.rejectionOf(uid)?.retriedWhen === change);
  }

  /** Says why the pod waits. `meanwhile`: what is so until then. kubelet: kubelet.go rejectPod */
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
    if (reason === reasons.podUIDTaken) foreignPods.awaitFreeing(uid);
    statusManager.reject(pod, rejection);
    const isNews = before?.for !== 'change' || before.rejection.reason !== reason;
    if (isNews) podEventRecorder(emit, pod).warning(reason, message);
  }

  private makeRoom(pod: Pod, victims: readonly Pod[]): void {
    this.waits.set(uidOf(pod), { for: 'room', pod, victims: new Set(victims.map(uidOf)) });
    for (const victim of victims) this.preempt(victim);
  }

  /** A pod that starts anew had ended: no pod waits for that any more. */
  private notAwaited(uid: string): void {
    for (const wait of this.waits.values()) if (wait.for === 'room') wait.victims.delete(uid);
  }

  /** kubelet: preemption/preemption.go evictPodsToFreeRequests */
  private preempt(victim: Pod): void {
    const { statusManager, emit, killPod, clock } = this.deps;
    const message = 'Preempted in order to admit critical pod';
    podEventRecorder(emit, victim).warning(reasons.preempting, message);
    statusManager.evict(victim, {
      reason: reasons.preempting,
      message,
      disruption: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      now: clock.now(),
    });
    killPod(victim);
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid;

function withMeanwhile(message: string, meanwhile: string | undefined): string {
  return meanwhile === undefined ? message : `${message.replace(/[. ]+$/, '')}; ${meanwhile}`;
}
