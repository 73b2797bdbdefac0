import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { ForeignPods } from '../kuberuntime/owned-runtime.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { Meter } from '../view/meter.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import type { AwaitedPods, Rejection } from '../view/snapshot.ts';
import type { AdmissionChange } from './admission-change.ts';
import { computePodStart, endedBy, type PodWait, type RetryOn, waitsForChange } from './compute-pod-start.ts';
import { dropPull, type PodEntry } from './pod-entry.ts';
import type { PodReplacements } from './pod-replacements.ts';
import { type Attempt, type FactSources, ReadFacts } from './read-facts.ts';

/** Executes the start of a pod. */
export interface StartActions {
  replacements: FactSources['replacements'] & Pick<PodReplacements, 'endEarlier'>;
  /** Starts the pod's worker. */
  launch: (pod: Pod) => void;
  endLastRun: (pod: Pod) => void;
  keepStopped: (pod: Pod) => void;
  /** Starts all declared pods that have no worker. */
  startOthers: () => void;
}

interface Deps extends Omit<FactSources, 'replacements'> {
  actions: () => StartActions;
  /** Pulls the images of a pod that waits for its earlier revision. */
  pull: (entry: PodEntry) => void;
  /** True if the pod is being stopped. */
  isTerminating: (uid: string) => boolean;
  /** Stops a pod to make room. */
  killPod: (victim: Pod) => void;
  /** CPUs and memory nodes of pods. Undefined if pods have no exclusive resources. */
  podResources?: Resources | undefined;
  /** Devices of plugins. Undefined if the node does not accept plugins. */
  devices?: Pick<NodeDevices, 'requestsDevices' | 'admit' | 'removePod'> | undefined;
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
 * Starts declared pods as `computePodStart` decides, and retries those whose wait is over. kubelet: lifecycle/,
 * preemption/preemption.go
 *
 * INVARIANTS: a running pod is not admitted again. Room made for a pod is reserved for it.
 */
export class PodStarter {
  /** Changes since the last `takeDue`. */
  private readonly changes = new Set<AdmissionChange>();

  constructor(private readonly deps: Deps) {}

  /** Sorts running pods first, so that they are counted before other pods are admitted. */
  inOrder(pods: readonly Pod[]): Pod[] {
    const running = new Set(pods.filter(({ metadata }) => this.deps.isRunning(metadata.uid)));
    return [...running, ...pods.filter((pod) => !running.has(pod))];
  }

  /** Executes the steps towards the start of a declared pod that are possible now. */
  start({ metadata: { uid } }: Pod): void {
    const entry = this.deps.podManager.entry(uid);
    if (entry === undefined) return;
    const attempt: Attempt = { allocation: 'due' };
    while (this.takeStep(entry, attempt));
  }

  /** True if the pod waits for a change, so other attempts to start it are useless. */
  isWaiting(uid: string): boolean {
    return waitsForChange(this.waitOf(uid));
  }

  /** True if the pod has not started yet. */
  isHeldBack(uid: string): boolean {
    return this.waitOf(uid) !== undefined;
  }

  /** The pods for which room is being made or is reserved. */
  reservedPods(): Pod[] {
    return this.waitingFor('victims').map(({ pod }) => pod);
  }

  /** Why the pod was not admitted, or undefined if it was. */
  rejectionOf(uid: string): Rejection | undefined {
    const wait = this.waitOf(uid);
    return isRejection(wait) ? { reason: wait.reason, message: wait.message, retryOn: wait.retryOn } : undefined;
  }

  /** The pods that this one waits for. Returns undefined if there are none. */
  awaitedBy(uid: string): AwaitedPods | undefined {
    const wait = this.waitOf(uid);
    return wait?.retryOn === 'podReady' ? wait.awaits : undefined;
  }

  /** Returns the pods whose wait may be over, those with reserved room first. Clears the recorded changes. */
  takeDue(): string[] {
    const retried = this.deps.podManager.entriesWith('isRetried');
    for (const entry of retried) entry.isRetried = false;
    const changes = (['node', 'devices', 'room', 'order'] as const).filter((one) => this.changes.delete(one));
    const due = [
      ...retried.filter(({ wait }) => waitsForChange(wait)),
      ...changes.flatMap((one) => endedBy[one].flatMap((retryOn) => this.waitingFor(retryOn))),
    ];
    return [...new Set(due.map(({ pod }) => pod.metadata.uid))];
  }

  /** Retries the admission of these pods if they wait. */
  retry(podUIDs: readonly string[]): void {
    for (const uid of podUIDs) {
      const entry = this.deps.podManager.entry(uid);
      if (entry !== undefined) entry.isRetried = true;
    }
    this.deps.onDue();
  }

  /** Records a change, and retries the admission of the pods that wait for it. */
  recordChange(change: AdmissionChange): void {
    if (this.changes.has(change) || !this.deps.podManager.entriesWith('wait').some(({ wait }) => waitsForChange(wait)))
      return;
    this.changes.add(change);
    this.deps.onDue();
  }

  /** Keeps a pod stopped after an operator stopped it. */
  keepStopped(pod: Pod): void {
    const { podManager, devices, actions } = this.deps;
    const { uid } = pod.metadata;
    const entry = podManager.entry(uid);
    if (entry !== undefined) {
      entry.wait = undefined;
      dropOwnPull(entry);
    }
    devices?.removePod(uid);
    actions().keepStopped(pod);
  }

  /** Drops the device request of a removed pod. */
  removed(uid: string): void {
    this.deps.devices?.removePod(uid);
  }

  /** Returns true if the next step must be decided again. */
  private takeStep(entry: PodEntry, attempt: Attempt): boolean {
    const { statusManager } = this.deps;
    const actions = this.deps.actions();
    const { pod } = entry;
    const facts = new ReadFacts(
      { ...this.deps, replacements: actions.replacements },
      entry,
      attempt,
      this.reservedPods(),
    );
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
        // The pod was admitted, so its status is outdated.
        if (waitsForChange(entry.wait)) statusManager.remove(pod.metadata.uid);
        entry.wait = undefined;
        if (plan.do === 'stopEarlier') {
          for (const one of plan.of) actions.replacements.endEarlier(one);
          if (plan.of.length > 1) actions.startOthers();
          return true;
        }
        // Pulls the images in parallel.
        for (const one of plan.pods) this.pull(one);
        this.wait(entry, { retryOn: 'images' });
        return false;
      }
      case 'stop':
        this.keepStopped(pod);
        return false;
      case 'endLastRun':
        entry.wait = undefined;
        actions.endLastRun(pod);
        return false;
      case 'keep':
      case 'start':
        entry.wait = undefined;
        if (plan.do === 'keep') this.readmit(pod);
        else this.notAwaited(pod.metadata.uid);
        dropOwnPull(entry);
        actions.launch(pod);
        return false;
    }
  }

  private pull({ metadata: { uid } }: Pod): void {
    const entry = this.deps.podManager.entry(uid);
    if (entry !== undefined) this.deps.pull(entry);
  }

  /** kubelet: cm/topologymanager/scope.go Admit */
  private allocate({ pod, wait }: PodEntry, attempt: Attempt): void {
    const { devices } = this.deps;
    if (devices?.requestsDevices(pod) !== true) {
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

  /**
   * Allocates the resources of a running pod again, for example after the agent restarted. If this fails, the pod keeps
   * running.
   */
  private readmit(pod: Pod): void {
    const result = this.aligned((resources) => resources.readmit(pod));
    if (result === undefined || result.admit) return;
    const { reason, message } = result;
    podEventRecorder(this.deps.emit, pod).warning(reason, `${message}. It keeps running, with shared CPUs`);
  }

  /** Without resource managers every pod is admitted. */
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

  /** Sorted by the start of their waits. */
  private waitingFor(retryOn: RetryOn): PodEntry[] {
    return this.deps.podManager
      .entriesWith('wait')
      .filter(({ wait }) => wait.retryOn === retryOn)
      .sort((a, b) => a.wait.sinceMonotonic - b.wait.sinceMonotonic);
  }

  /**
   * Records the wait and shows it in the pod's status and events. Appends `meanwhile` to the message. kubelet:
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

  /** Returns true if no pod has to stop first. A victim that has not started only loses its reserved room. */
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

  /** Removes a pod that has stopped from all waits for victims. */
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

/** Keeps a pull for an in-place change, which continues. */
function dropOwnPull(entry: PodEntry): void {
  if (entry.pull?.revision === entry.pod) dropPull(entry);
}

function isRejection(wait: PodWait | undefined): wait is Rejection {
  return wait !== undefined && 'reason' in wait && wait.retryOn !== 'podReady' && wait.retryOn !== 'allocation';
}

function withMeanwhile(message: string, meanwhile: string | undefined): string {
  return meanwhile === undefined ? message : `${message.replace(/[. ]+$/, '')}; ${meanwhile}`;
}
