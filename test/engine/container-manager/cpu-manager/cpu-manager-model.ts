import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';
import { isSidecar } from '../../../../src/api/values/sidecars.ts';
import { toQuantity } from '../../../../src/api/values/quantity.ts';
import type { Container, Pod, PodStatus } from '../../../../src/api/types.ts';
import { CPUManager } from '../../../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import {
  podRequestedCPUs,
  requestedCPUs,
} from '../../../../src/engine/container-manager/cpu-manager/requested-cpus.ts';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import type { DescribedMachine } from '../../../../src/engine/container-manager/cpu-topology/cpu-topology.ts';
import type { StateFile } from '../../../../src/engine/container-manager/checkpoint/state-file.ts';
import { TopologyManager } from '../../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { makePod } from '../../../builders/pods.ts';

export interface ContainerPlan {
  kind: 'init' | 'sidecar' | 'regular';
  cpu: string;
}

export interface NodePlan {
  /** Threads of each core, of each NUMA node. */
  nodes: number[][];
  nodesPerSocket: number;
  options: Record<string, string>;
  reserved: number;
  topologyPolicy: string;
  pods: ContainerPlan[][];
}

/** Pods that come, run and end on a machine that gives them CPUs. */
export class CPUManagerModel {
  readonly violations: string[] = [];
  private readonly plan: NodePlan;
  private readonly pods: Pod[];
  private active: Pod[] = [];
  private sourcesReady = true;
  private runtimeFails = false;
  /** CPUs of running containers by pod and name, as the runtime has them. */
  private readonly running = new Map<string, { id: string; cpus: string }>();
  private ids = 0;
  private content: string | undefined;
  private managers: { cpu: CPUManager; topology: TopologyManager };

  constructor(plan: NodePlan) {
    this.plan = plan;
    this.pods = plan.pods.map(podOf);
    this.managers = this.start();
  }

  admit(nth: number): void {
    const pod = this.pod(nth);
    if (this.active.includes(pod)) return;
    this.active.push(pod);
    const free = this.freeCPUs();
    const { admit } = this.managers.topology.admit(pod);
    if (!admit) this.active = this.active.filter((other) => other !== pod);
    const { topologyPolicy, options } = this.plan;
    if (admit || topologyPolicy !== 'none' || options['full-pcpus-only'] === 'true' || !this.sourcesReady) return;
    if (podRequestedCPUs(pod) + stackedInitCPUs(pod) <= free)
      this.violations.push(`${nameOf(pod)} fits, and is refused`);
  }

  /** A container of the pod starts, or starts anew. */
  run(nth: number, which: number): void {
    const pod = this.pod(nth);
    const containers = containersOf(pod);
    const container = containers[which % containers.length];
    if (!this.active.includes(pod) || container === undefined) return;
    const { cpu, topology } = this.managers;
    const { uid } = pod.metadata;
    const cpus = cpu.effectiveCPUs(uid, container.name);
    const id = `id${this.ids++}`;
    cpu.addContainer(uid, container.name, id, cpus);
    topology.addContainer(uid, container.name, id);
    this.running.set(`${uid}/${container.name}`, { id, cpus: cpus.toString() });
  }

  end(nth: number): void {
    const pod = this.pod(nth);
    this.active = this.active.filter((other) => other !== pod);
    for (const { name } of containersOf(pod)) this.running.delete(`${pod.metadata.uid}/${name}`);
  }

  setSourcesReady(areReady: boolean): void {
    this.sourcesReady = areReady;
  }

  setRuntimeFails(fails: boolean): void {
    this.runtimeFails = fails;
  }

  async reconcile(): Promise<void> {
    await this.managers.cpu.reconcile();
  }

  /** The agent starts anew, and admits the pods that run. */
  restart(): void {
    const before = this.state();
    try {
      this.managers = this.start();
    } catch (error) {
      // The kubelet does not start either; the agent sets the file aside.
      if (!(error instanceof Error) || error.message !== 'default cpuset cannot be empty') throw error;
      this.content = undefined;
      this.managers = this.start();
      this.admitAgain();
      return;
    }
    if (this.state() !== before) this.violations.push(`the state was ${before} and is ${this.state()} after a restart`);
    this.admitAgain();
  }

  check(): void {
    const { cpu } = this.managers;
    const { assigned, sharedCPUs, allocatableCPUs, allCPUs } = cpu;
    const isStrict = this.plan.options['strict-cpu-reservation'] === 'true';
    const all = sharedCPUs.union(...assigned.map(({ cpus }) => cpus));
    this.expect(
      all.equals(isStrict ? allocatableCPUs : allCPUs),
      `not every CPU is shared or assigned: ${this.state()}`,
    );
    for (const [index, { podUID, containerName, cpus }] of assigned.entries()) {
      const what = `${podUID}/${containerName} has ${cpus.toString()}: ${this.state()}`;
      this.expect(cpus.isSubsetOf(allocatableCPUs), `reserved CPUs are assigned: ${what}`);
      this.expect(cpus.intersection(sharedCPUs).isEmpty, `shared CPUs are assigned: ${what}`);
      for (const other of assigned.slice(index + 1)) {
        const mayShare =
          podUID === other.podUID && (this.isInit(podUID, containerName) || this.isInit(podUID, other.containerName));
        this.expect(mayShare || cpus.intersection(other.cpus).isEmpty, `a CPU is assigned twice: ${what}`);
      }
    }
    for (const pod of this.active) {
      for (const container of containersOf(pod)) {
        const wanted = requestedCPUs(pod, container);
        const has = cpu.exclusiveCPUs(pod.metadata.uid, container.name).size;
        this.expect(has === wanted, `${nameOf(pod)}/${container.name} requests ${wanted} CPUs and has ${has}`);
      }
    }
  }

  async settle(): Promise<void> {
    this.runtimeFails = false;
    this.sourcesReady = true;
    await this.reconcile();
    this.check();
    for (const pod of this.active) {
      for (const { name } of containersOf(pod)) {
        const has = this.running.get(`${pod.metadata.uid}/${name}`)?.cpus;
        const should = this.managers.cpu.effectiveCPUs(pod.metadata.uid, name).toString();
        // Without a CPU the runtime cannot move it.
        this.expect(
          has === undefined || should === '' || has === should,
          `${nameOf(pod)}/${name} runs on ${has}, not ${should}`,
        );
      }
    }
    this.active = [];
    await this.reconcile();
    this.expect(this.managers.cpu.assigned.length === 0, `CPUs of ended pods are assigned: ${this.state()}`);
  }

  private start(): { cpu: CPUManager; topology: TopologyManager } {
    const machine = machineOf(this.plan);
    const featureGates = { ...defaultFeatureGates, CPUManagerPolicyAlphaOptions: true };
    const topology = new TopologyManager({
      settings: { policy: this.plan.topologyPolicy, scope: 'container', options: {} },
      nodes: machine.nodes,
    });
    const cpu = new CPUManager({
      settings: {
        policy: 'static',
        options: this.plan.options,
        reserved: toQuantity(String(this.plan.reserved)),
        reservedCPUs: CPUSet.empty,
      },
      ...{ machine, affinities: topology, featureGates },
      activePods: () => this.active,
      sourcesReady: () => this.sourcesReady,
      podStatus: (uid) => this.statusOf(uid),
      updateContainer: (id, cpus) => this.update(id, cpus),
    });
    topology.addHintProvider(cpu);
    cpu.start(this.file());
    return { cpu, topology };
  }

  private file(): StateFile {
    return {
      path: 'cpu_manager_state',
      content: this.content,
      write: (content) => {
        this.content = content;
      },
    };
  }

  private admitAgain(): void {
    const before = this.active;
    this.active = [];
    for (const pod of before) {
      this.active.push(pod);
      if (this.managers.topology.admit(pod).admit) continue;
      this.active.pop();
      for (const { name } of containersOf(pod)) this.running.delete(`${pod.metadata.uid}/${name}`);
    }
  }

  private statusOf(uid: string): PodStatus {
    const pod = this.pods.find(({ metadata }) => metadata.uid === uid);
    const statuses = (containers: readonly Container[]) =>
      containers.flatMap(({ name }) => {
        const running = this.running.get(`${uid}/${name}`);
        if (running === undefined) return [];
        const state = { running: { startedAt: '' } };
        return [
          {
            name,
            containerID: `containerd://${running.id}`,
            state,
            image: '',
            imageID: '',
            ready: true,
            restartCount: 0,
          },
        ];
      });
    return {
      initContainerStatuses: statuses(pod?.spec.initContainers ?? []),
      containerStatuses: statuses(pod?.spec.containers ?? []),
    };
  }

  private update(id: string, cpus: string): Promise<void> {
    const container = [...this.running.values()].find((running) => running.id === id);
    if (container === undefined || this.runtimeFails) return Promise.reject(new Error('scripted'));
    container.cpus = cpus;
    return Promise.resolve();
  }

  private freeCPUs(): number {
    const { sharedCPUs, allocatableCPUs } = this.managers.cpu;
    return sharedCPUs.intersection(allocatableCPUs).size;
  }

  private state(): string {
    const { assigned, sharedCPUs } = this.managers.cpu;
    const lines = assigned.map(({ podUID, containerName, cpus }) => `${podUID}/${containerName}=${cpus.toString()}`);
    return `shared=${sharedCPUs.toString()} ${lines.sort().join(' ')}`;
  }

  private isInit(podUID: string, containerName: string): boolean {
    const pod = this.pods.find(({ metadata }) => metadata.uid === podUID);
    return (pod?.spec.initContainers ?? []).some(
      (container) => container.name === containerName && !isSidecar(container),
    );
  }

  private pod(nth: number): Pod {
    const pod = this.pods[nth % this.pods.length];
    if (pod === undefined) throw new Error('The plan has no pods');
    return pod;
  }

  private expect(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation);
  }
}

const nameOf = ({ metadata }: Pod): string => metadata.name;
const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

/** CPUs of all init containers, so that what each leaves to the next does not count. */
function stackedInitCPUs(pod: Pod): number {
  return (pod.spec.initContainers ?? []).reduce((sum, container) => sum + requestedCPUs(pod, container), 0);
}

function podOf(plan: readonly ContainerPlan[], index: number): Pod {
  const container = ({ kind, cpu }: ContainerPlan, nth: number): Container => {
    const amounts = { cpu, memory: '64Mi' };
    const restart = kind === 'sidecar' ? { restartPolicy: 'Always' } : {};
    return { name: `${kind[0]}${nth}`, image: 'app:1', resources: { requests: amounts, limits: amounts }, ...restart };
  };
  const made = plan.map((one, nth) => ({ one, made: container(one, nth) }));
  return makePod({
    metadata: { uid: `uid${index}`, name: `pod${index}` },
    spec: {
      initContainers: made.filter(({ one }) => one.kind !== 'regular').map((entry) => entry.made),
      containers: [...made.filter(({ one }) => one.kind === 'regular').map((entry) => entry.made)],
    },
  });
}

function machineOf({ nodes, nodesPerSocket }: NodePlan): DescribedMachine {
  let next = 0;
  return {
    nodes: nodes.map((cores, id) => ({
      id,
      cores: cores.map((threads) => ({
        socket: Math.floor(id / nodesPerSocket),
        threads: Array.from({ length: threads }, () => next++),
        l3: next % 2,
      })),
    })),
  };
}
