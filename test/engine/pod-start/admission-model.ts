import { plainRedactor } from '../../fakes/plain-redactor.ts';
import { allDependencies } from '../../../src/api/values/depends-on.ts';
import type { Pod } from '../../../src/api/types.ts';
import { EventBus } from '../../../src/engine/view/event-bus.ts';
import { type AdmissionNode, admitPod } from '../../../src/engine/lifecycle/admit-pod.ts';
import { computeStartOrder } from '../../../src/engine/lifecycle/start-order.ts';
import { admissionChange } from '../../../src/engine/pod-start/admission-change.ts';
import { PodManager } from '../../../src/engine/pod-start/pod-manager.ts';
import { PodStarter } from '../../../src/engine/pod-start/pod-starter.ts';
import { podRef } from '../../../src/api/values/pod-names.ts';
import { StatusManager } from '../../../src/engine/status/status-manager.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { cpuOf, podOf, type PodPlan, portsOf } from './planned-pod.ts';
import { startDeps } from './start-deps.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

/** A pod that was given to a worker; one that goes on after its end starts anew when its worker is gone. */
interface Worker {
  readonly pod: Pod;
  state: 'syncing' | 'terminating' | 'finished';
  hasContainers: boolean;
  restarts: boolean;
}

const cpus = 4;
const maxPods = 4;

/** Pods that come, get Ready, complete and end as a test says, of which an admission decides which may start. */
export class AdmissionModel {
  readonly violations: string[] = [];
  /** UIDs of preempted pods, by the events that report it. */
  readonly preempted: string[] = [];
  readonly #clock = new FakeClock();
  readonly #events = new EventBus({ clock: this.#clock, redactor: plainRedactor, faults: silentFaults() });
  readonly #catalog: readonly Pod[];
  readonly #workers = new Map<string, Worker>();
  readonly #statusManager: StatusManager;
  readonly #podManager = new PodManager();
  readonly #starter: PodStarter;
  #isShuttingDown = false;
  #due = 0;
  /** How often a pod ended. */
  #ends = 0;

  constructor(plans: readonly PodPlan[]) {
    this.#catalog = plans.map(podOf);
    const { emit } = this.#events;
    this.#statusManager = new StatusManager({ emit, redactor: plainRedactor });
    this.#starter = new PodStarter({
      podManager: this.#podManager,
      ...startDeps((pod) => {
        this.#launch(pod);
      }),
      classProblemOf: () => undefined,
      node: () => this.#node(),
      activePods: () => this.#activePods(),
      isRunning: (uid) => this.#workers.get(uid)?.hasContainers === true,
      isTerminating: (uid) => this.#workers.get(uid)?.state === 'terminating',
      killPod: (victim) => {
        const { uid } = victim.metadata;
        const { state = 'waiting' } = this.#workers.get(uid) ?? {};
        if (state !== 'syncing') this.violations.push(`${uid} is preempted while it is ${state}`);
        this.#kill(victim);
        this.#create(victim);
      },
      foreignPods: { holderOf: () => undefined, awaitFreeing: () => undefined },
      ...{ statusManager: this.#statusManager, clock: this.#clock, emit },
      onDue: () => {
        this.#due += 1;
      },
    });
    this.#events.subscribe((event) => {
      const news = admissionChange(event);
      if (news !== undefined) this.#starter.recordChange(news);
      if (event.type === 'Recorded' && event.reason === 'Preempting') this.preempted.push(event.pod?.uid ?? '');
    });
  }

  declare(nth: number): void {
    const pod = this.#pod(nth);
    if (this.#isDeclared(pod)) return;
    this.#podManager.setPod(pod);
    this.#events.emit({ type: 'PodAdded', pod: podRef(pod), source: 'file' });
    this.#start(pod);
  }

  remove(nth: number): void {
    const pod = this.#pod(nth);
    if (!this.#isDeclared(pod)) return;
    this.#podManager.removePod(pod.metadata.uid);
    this.#events.emit({ type: 'PodRemoved', pod: podRef(pod), source: 'file' });
    this.#kill(pod);
  }

  /** A pod that was admitted has containers, and is Ready or not. */
  run(nth: number, ready: boolean): void {
    const worker = this.#workers.get(this.#pod(nth).metadata.uid);
    if (worker?.state !== 'syncing') return;
    worker.hasContainers = true;
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    this.#statusManager.setPodStatus(worker.pod, { phase: 'Running', conditions });
  }

  /** Its containers end by themselves, for good. */
  complete(nth: number): void {
    const worker = this.#workers.get(this.#pod(nth).metadata.uid);
    if (worker?.state === 'syncing' && worker.hasContainers) this.#finish(worker, 'Succeeded');
  }

  /** What is being stopped is gone. */
  end(nth: number): void {
    const worker = this.#workers.get(this.#pod(nth).metadata.uid);
    if (worker?.state === 'terminating') this.#finish(worker, 'Failed');
  }

  /** What happens around a pod leads to a sync of it. */
  sync(nth: number): void {
    const pod = this.#pod(nth);
    if (this.#isDeclared(pod) && !this.#starter.isWaiting(pod.metadata.uid)) this.#create(pod);
  }

  /** Its manifest changes in a way that makes no new pod of it. */
  update(nth: number): void {
    const pod = this.#pod(nth);
    if (this.#isDeclared(pod) && this.#starter.isWaiting(pod.metadata.uid)) this.#start(pod);
  }

  housekeeping(): void {
    for (const [uid, { pod, state, restarts }] of [...this.#workers]) {
      if (state !== 'finished' || (this.#isDeclared(pod) && !restarts)) continue;
      this.#workers.delete(uid);
      this.#events.emit({ type: 'WorkerStateChanged', pod: podRef(pod), state: 'removed' });
    }
    const known = [...this.#podManager.pods(), ...[...this.#workers.values()].map(({ pod }) => pod)];
    this.#statusManager.retain(new Set(known.map(({ metadata }) => metadata.uid)));
    for (const pod of this.#podManager.pods()) {
      const { uid } = pod.metadata;
      if (!this.#workers.has(uid) && !this.#starter.isWaiting(uid)) this.#start(pod);
    }
  }

  setShuttingDown(isShuttingDown: boolean): void {
    this.#isShuttingDown = isShuttingDown;
    if (!isShuttingDown) this.#starter.recordChange('node');
  }

  /** The sync loop comes to what was asked of it. */
  pump(): void {
    if (this.#due === 0) return;
    this.#due -= 1;
    for (const uid of this.#starter.takeDue()) {
      const pod = this.#podManager.get(uid);
      if (pod !== undefined) this.#start(pod);
    }
  }

  /** No more admitted than fits, no port twice. */
  check(): void {
    const running = this.#runningPods();
    const asked = running.reduce((sum, pod) => sum + cpuOf(pod), 0);
    const ports = running.flatMap((pod) => portsOf(pod));
    if (asked > cpus) this.violations.push(`pods with ${asked} of ${cpus} cpus run`);
    if (running.length > maxPods) this.violations.push(`${running.length} of ${maxPods} pods run`);
    if (new Set(ports).size < ports.length) this.violations.push(`ports ${ports.join()} are in use`);
  }

  /** Everything that is on its way comes to its end; then no pod waits that could start. */
  settle(): void {
    for (let round = 0; ; round++) {
      const before = this.#shown();
      for (const nth of this.#catalog.keys()) this.end(nth);
      this.housekeeping();
      while (this.#due > 0) this.pump();
      this.check();
      if (before === this.#shown()) break;
      if (round > 100) {
        this.violations.push(`it never settles: ${before}`);
        return;
      }
    }
    for (const pod of this.#podManager.pods()) {
      const { uid } = pod.metadata;
      if (this.#workers.has(uid)) continue;
      if (!this.#starter.isWaiting(uid)) this.violations.push(`${uid} neither runs nor waits`);
      const others = this.#runningPods();
      const needed = new Set([...allDependencies(pod, this.#podManager.pods())].map(({ metadata }) => metadata.uid));
      if (this.#isInTurn(pod) && admitPod(pod, others, this.#node(), needed).admit) {
        const reason = this.#starter.rejectionOf(uid)?.reason ?? 'nothing';
        this.violations.push(`${uid} waits for ${reason} beside ${others.map(({ metadata }) => metadata.uid).join()}`);
      }
    }
  }

  /** All that is declared gets its turn, as far as it ever can. */
  settleReady(): void {
    this.setShuttingDown(false);
    const places = [...this.#catalog.keys()];
    for (const last of places) {
      this.settle();
      for (const nth of places.slice(0, last + 1)) this.run(nth, true);
    }
    this.settle();
  }

  #start(pod: Pod): void {
    this.#starter.start(pod);
  }

  #launch(pod: Pod): void {
    const { uid } = pod.metadata;
    const isRunning = this.#workers.get(uid)?.hasContainers === true;
    if (!isRunning && !this.#isInTurn(pod)) this.violations.push(`${uid} starts before those it waits for`);
    if (this.#starter.isWaiting(uid)) this.violations.push(`${uid} is started and waits`);
    if (!this.#workers.has(uid)) this.#statusManager.remove(uid);
    this.#create(pod);
  }

  #isDeclared({ metadata }: Pod): boolean {
    return this.#podManager.get(metadata.uid) !== undefined;
  }

  /** A worker that ends already makes way for a new one afterwards. */
  #create(pod: Pod): void {
    const worker = this.#workers.get(pod.metadata.uid);
    if (worker === undefined) {
      this.#workers.set(pod.metadata.uid, { pod, state: 'syncing', hasContainers: false, restarts: false });
    } else if (worker.state !== 'syncing') {
      worker.restarts = true;
    }
  }

  #kill(pod: Pod): void {
    const { uid } = pod.metadata;
    const worker = this.#workers.get(uid);
    if (worker === undefined) {
      this.#workers.set(uid, { pod, state: 'terminating', hasContainers: false, restarts: false });
    } else if (worker.state === 'syncing') worker.state = 'terminating';
  }

  #finish(worker: Worker, phase: 'Succeeded' | 'Failed'): void {
    this.#ends += 1;
    worker.hasContainers = false;
    this.#statusManager.setPodStatus(worker.pod, { phase });
    worker.state = 'finished';
    this.#events.emit({ type: 'WorkerStateChanged', pod: podRef(worker.pod), state: 'terminated' });
  }

  #isInTurn(pod: Pod): boolean {
    const statusOf = ({ metadata }: Pod) => this.#statusManager.get(metadata.uid);
    return computeStartOrder(pod, this.#podManager.pods(), statusOf).decision === 'start';
  }

  #node(): AdmissionNode {
    return {
      ...{ name: 'node1', labels: {}, taints: [], pressures: [], appArmorEnabled: true },
      ...{ supportsSupplementalGroupsPolicy: true, allowsPodLevelResources: true },
      evictionPolicy: 'byPriority',
      allocatable: { cpu: String(cpus), memory: '1Gi', pods: String(maxPods) },
      allowedSysctls: { names: new Map(), prefixes: new Map() },
      isShuttingDown: this.#isShuttingDown,
    };
  }

  /** As the engine counts them: also those that are being stopped, but none that is no longer declared. */
  #activePods(): Pod[] {
    return this.#podsOf(({ state, pod }) => state !== 'finished' && this.#isDeclared(pod));
  }

  #runningPods(): Pod[] {
    return this.#podsOf(({ state, pod }) => state === 'syncing' && this.#isDeclared(pod));
  }

  #podsOf(which: (worker: Worker) => boolean): Pod[] {
    return [...this.#workers.values()].filter(which).map(({ pod }) => pod);
  }

  #pod(nth: number): Pod {
    const pod = this.#catalog[nth % this.#catalog.length];
    if (pod === undefined) throw new Error('There are no pods');
    return pod;
  }

  /** Differs after anything happened, also where a pod that ended is ending again. */
  #shown(): string {
    const workers = [...this.#workers].map(([uid, { state, restarts }]) => `${uid} ${state} ${String(restarts)}`);
    return [this.#ends, ...workers, ...this.#podManager.pods().map(({ metadata }) => metadata.uid)].join();
  }
}
