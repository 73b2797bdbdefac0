import type { Pod } from '../../api/types.ts';
import { allDependencies } from '../../api/values/depends-on.ts';
import type { ClassProblem } from '../../api/values/resolve-classes.ts';
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
import type { AdmissionFacts, EarlierRevision, ImageState, StartFacts } from './compute-pod-start.ts';
import type { PodEntry } from './pod-entry.ts';
import type { PodManager } from './pod-manager.ts';
import type { PodReplacements } from './pod-replacements.ts';
import { imageState } from './revision-prepuller.ts';

/** Sources of the facts about the start of a pod. */
export interface FactSources {
  replacements: Pick<PodReplacements, 'earlierOf' | 'pending'>;
  podManager: PodManager;
  /** True if an operator stopped the pod. */
  isStopped: (pod: Pod) => boolean;
  /** True if everything of the pod's last run must be removed before it starts. */
  mustRunAnew: (pod: Pod) => boolean;
  /** True if all containers of the pod are done. */
  isDone: (pod: Pod) => boolean;
  node: () => AdmissionNode;
  /** Declared pods whose containers may run. */
  activePods: () => Pod[];
  /** True if a container of the pod runs. */
  isRunning: (uid: string) => boolean;
  /** Why a declared pod must not start with its class. */
  classProblemOf: (pod: Pod) => ClassProblem | undefined;
  foreignPods: Pick<ForeignPods, 'holderOf'>;
  statusManager: StatusManager;
}

/** One attempt to start a pod, with the allocations made so far. */
export interface Attempt {
  allocation: StartFacts['allocation'];
  refusal?: Refusal;
}

/** Reads each fact on demand, because some require a comparison with all other pods. */
export class ReadFacts implements StartFacts {
  readonly earlier: EarlierRevision | undefined;
  private readonly pod: Pod;
  private readonly replacement: Replacement;

  constructor(
    private readonly deps: FactSources,
    private readonly entry: PodEntry,
    private readonly attempt: Attempt,
    private readonly reservedPods: readonly Pod[],
  ) {
    this.pod = entry.pod;
    this.earlier = deps.replacements.earlierOf(this.pod);
    this.replacement = { current: this.earlier?.current, next: this.pod };
  }

  get isStopped(): boolean {
    return this.deps.isStopped(this.pod);
  }

  get runsAnew(): boolean {
    return this.deps.mustRunAnew(this.pod);
  }

  get isRunning(): boolean {
    return this.deps.isRunning(uidOf(this.pod));
  }

  get isDone(): boolean {
    return this.deps.isDone(this.pod);
  }

  get images(): ImageState {
    return imageState(this.entry, this.pod);
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
    const together = portExchange(this.replacement, this.deps.replacements.pending());
    if (together.length === 1) return [];
    return together.map((one) => ({
      pod: one.next,
      images: this.imagesOf(one.next),
      ...this.admissionOf(one, together),
    }));
  }

  private imagesOf(pod: Pod): ImageState {
    const entry = this.deps.podManager.entry(uidOf(pod));
    return entry === undefined ? 'unknown' : imageState(entry, pod);
  }

  private admissionOf(one: Replacement, together: readonly Replacement[]): AdmissionFacts {
    return {
      uidOwner: this.deps.foreignPods.holderOf(uidOf(one.next)),
      classProblem: this.deps.classProblemOf(one.next),
      order: this.orderOf(one),
      admission: this.judge(one, together),
    };
  }

  /** Assumes that the current revision has stopped. */
  private orderOf({ current, next }: Replacement): StartFacts['order'] {
    const { podManager, statusManager } = this.deps;
    const others = podManager.pods().filter((other) => current === undefined || uidOf(other) !== uidOf(current));
    return computeStartOrder(next, others, (pod) => statusManager.get(uidOf(pod)));
  }

  /** Admits the pod against all active pods, as if these replacements were complete. */
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

const uidOf = ({ metadata }: Pod): string => metadata.uid;
