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
import { computeStartOrder, type StartOrder } from './start-order.ts';

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

/**
 * Which pods may start, and which wait until something changes: for pods that have to be Ready before them, then for room.
 * kubelet: lifecycle/, preemption/preemption.go
 *
 * INVARIANTS: a pod that runs already is not judged again; room that is made for a pod is that pod's.
 */
export class PodAdmission {
  private readonly deps: Deps;
  /** By UID. */
  private readonly rejected = new Map<string, Rejection>();
  /** UIDs of pods that come after others. */
  private readonly waitingForPods = new Set<string>();
  /** Pods that wait for others to end, with the UIDs of those that did not start anew since. */
  private readonly preempting = new Map<string, { pod: Pod; victims: Set<string> }>();
  /** What happened since pods were asked again last. */
  private readonly news = new Set<AdmissionNews>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What runs already is counted before it is decided what else there is room for. */
  inOrder(pods: readonly Pod[]): Pod[] {
    const running = pods.filter(({ metadata }) => this.deps.isRunning(metadata.uid));
    return [...running, ...pods.filter((pod) => !running.includes(pod))];
  }

  /** True: the pod may start now. False: it waits, and its status says why. */
  admit(pod: Pod): boolean {
    const { uid } = pod.metadata;
    const { isRunning, node } = this.deps;
    if (!isRunning(uid) && (this.isTaken(pod) || !this.isInTurn(pod))) return false;
    const active = this.deps.activePods().filter(({ metadata }) => metadata.uid !== uid);
    const { victims } = this.preempting.get(uid) ?? {};
    if (victims !== undefined && active.some(({ metadata }) => victims.has(metadata.uid))) return false;
    const others = [...active, ...this.reservedForOthers(uid)];
    const result = isRunning(uid) ? yes : admitPod(pod, others, node(), this.neededBy(pod));
    if (!result.admit) {
      this.reject(pod, result.rejection);
      return false;
    }
    this.forget(uid);
    if (result.preempt.length === 0) {
      if (!isRunning(uid)) this.notAwaited(uid);
      return true;
    }
    this.preempting.set(uid, { pod, victims: new Set(result.preempt.map(({ metadata }) => metadata.uid)) });
    for (const victim of result.preempt) this.preempt(victim);
    return false;
  }

  /**
   * The replacements to make so that the next revision of this one starts: it, and those of pods with which it exchanges
   * host ports. None: it may not start, and its status says why; nothing is to be stopped for it. Asked as if those that run
   * were gone already; nobody is ended for the answer. `pending`: all that could be made.
   */
  admitReplacement(replacement: Replacement, pending: () => Replacement[]): Replacement[] {
    const { next } = replacement;
    const { uid } = next.metadata;
    if (this.deps.isRunning(uid)) return [replacement];
    if (this.isTaken(next, runsOnUntilThen)) return [];
    const order = this.startOrder(replacement);
    if (order.decision !== 'start') {
      this.comeAfter(next, order, runsOnUntilThen);
      return [];
    }
    const alone = this.judge(replacement, [replacement]);
    const together = alone.admit ? [replacement] : this.exchange(replacement, pending());
    if (!alone.admit && together.length === 0) {
      this.reject(next, { ...alone.rejection, message: withMeanwhile(alone.rejection.message, runsOnUntilThen) });
      return [];
    }
    // What was said of it is not so any more.
    if (this.isWaiting(uid)) this.deps.statusManager.forget(uid);
    this.forget(uid);
    return together;
  }

  /** True: the pod was not admitted, and a change is awaited. */
  isWaiting(uid: string): boolean {
    return this.rejected.has(uid) || this.waitingForPods.has(uid) || this.preempting.has(uid);
  }

  /** Why the pod was not admitted. */
  rejectionOf(uid: string): Rejection | undefined {
    return this.rejected.get(uid);
  }

  /** Those to ask again, first the ones for which room is made. */
  waiting(): string[] {
    const news = new Set(this.news);
    this.news.clear();
    return [
      ...(news.has('node') ? this.retriedWhen('the node takes pods again') : []),
      ...(news.has('room') ? [...this.preempting.keys(), ...this.retriedWhen('a pod ends')] : []),
      ...(news.has('order') ? [...this.retriedWhen('manifests change'), ...this.waitingForPods] : []),
    ];
  }

  /** Who waited for this is to be asked again. */
  note(news: AdmissionNews): void {
    if (this.news.has(news) || this.rejected.size + this.waitingForPods.size + this.preempting.size === 0) return;
    this.news.add(news);
    this.deps.onDue();
  }

  /** The pod is no longer declared, or is declared anew. */
  forget(uid: string): void {
    this.rejected.delete(uid);
    this.waitingForPods.delete(uid);
    this.preempting.delete(uid);
  }

  /** A pod that starts anew had ended: nobody waits for that any more. */
  private notAwaited(uid: string): void {
    for (const { victims } of this.preempting.values()) victims.delete(uid);
  }

  /** True: somebody else has a pod of this UID in the runtime. `meanwhile`: what is so until that one is gone. */
  private isTaken(pod: Pod, meanwhile?: string): boolean {
    const { foreignPods } = this.deps;
    const { uid } = pod.metadata;
    const holder = foreignPods.holderOf(uid);
    if (holder === undefined) return false;
    foreignPods.awaitFreeing(uid);
    const message = withMeanwhile(takenMessage(uid, holder), meanwhile);
    this.reject(pod, { reason: reasons.podUIDTaken, message, retriedWhen: 'a pod ends' });
    return true;
  }

  /** False: others come first, or the pod can never have its turn. */
  private isInTurn(pod: Pod): boolean {
    const order = this.startOrder({ current: undefined, next: pod });
    if (order.decision !== 'start') this.comeAfter(pod, order);
    return order.decision === 'start';
  }

  /** As if its current revision were gone. */
  private startOrder({ current, next }: Replacement): StartOrder {
    const { declaredPods, statusManager } = this.deps;
    const others = declaredPods().filter(({ metadata }) => metadata.uid !== current?.metadata.uid);
    return computeStartOrder(next, others, ({ metadata }) => statusManager.get(metadata.uid));
  }

  /** `meanwhile`: what is so until then. */
  private comeAfter(pod: Pod, order: Exclude<StartOrder, { decision: 'start' }>, meanwhile?: string): void {
    if (order.decision === 'wait') this.wait(pod, withMeanwhile(order.message, meanwhile));
    else this.reject(pod, { ...order.rejection, message: withMeanwhile(order.rejection.message, meanwhile) });
  }

  /** Several replacements that can be made at once, where this one cannot be made alone. */
  private exchange(replacement: Replacement, pending: readonly Replacement[]): Replacement[] {
    const together = portExchange(replacement, pending);
    const isAdmitted = (one: Replacement): boolean =>
      this.startOrder(one).decision === 'start' && this.judge(one, together).admit;
    return together.length > 1 && together.every(isAdmitted) ? together : [];
  }

  /** Beside all that is at work, as if these replacements were made. */
  private judge({ next }: Replacement, together: readonly Replacement[]): Admission {
    const { activePods, node } = this.deps;
    const { uid } = next.metadata;
    const stopped = new Set(together.map(({ current }) => current?.metadata.uid));
    const started = together.flatMap((other) => (other.next.metadata.uid === uid ? [] : [other.next]));
    const others = [...activePods(), ...this.reservedForOthers(uid)].filter(
      ({ metadata }) => metadata.uid !== uid && !stopped.has(metadata.uid),
    );
    return admitPod(next, [...others, ...started], node(), this.neededBy(next));
  }

  private wait(pod: Pod, message: string): void {
    const { statusManager, emit } = this.deps;
    const { uid } = pod.metadata;
    const isNews = !this.waitingForPods.has(uid);
    this.forget(uid);
    this.waitingForPods.add(uid);
    statusManager.wait(pod, { reason: reasons.waitingForPods, message });
    if (isNews) podEventRecorder(emit, pod).normal(reasons.waitingForPods, message);
  }

  /** UIDs of the pods without which it would wait again. */
  private neededBy(pod: Pod): Set<string> {
    return new Set([...allDependencies(pod, this.deps.declaredPods())].map(({ metadata }) => metadata.uid));
  }

  private retriedWhen(change: Rejection['retriedWhen']): string[] {
    return [...this.rejected].filter(([, { retriedWhen }]) => retriedWhen === change).map(([uid]) => uid);
  }

  private reservedForOthers(uid: string): Pod[] {
    return [...this.preempting.values()].flatMap(({ pod }) => (pod.metadata.uid === uid ? [] : [pod]));
  }

  /** kubelet: kubelet.go rejectPod */
  private reject(pod: Pod, rejection: Rejection): void {
    const { statusManager, emit } = this.deps;
    const { uid } = pod.metadata;
    const isNews = this.rejected.get(uid)?.reason !== rejection.reason;
    this.forget(uid);
    this.rejected.set(uid, rejection);
    statusManager.reject(pod, rejection);
    if (isNews) podEventRecorder(emit, pod).warning(rejection.reason, rejection.message);
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

const yes = { admit: true, preempt: [] } as const;

function withMeanwhile(message: string, meanwhile: string | undefined): string {
  return meanwhile === undefined ? message : `${message.replace(/[. ]+$/, '')}; ${meanwhile}`;
}
