import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, PodStatus, ResourceList } from '../../src/api/types.ts';
import { resolveFeatureGates } from '../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../src/api/values/quantity.ts';
import type {
  CPUManager,
  Reconciled,
  RuntimeContainer,
} from '../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import { CPUSet } from '../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import type { DescribedNode } from '../../src/engine/container-manager/cpu-topology/cpu-topology.ts';
import type { NUMAMemory } from '../../src/engine/container-manager/memory-manager/machine-memory.ts';
import type { MemoryBlock } from '../../src/engine/container-manager/memory-manager/memory-state.ts';
import type { MemoryReservation } from '../../src/engine/container-manager/memory-manager/reserved-memory.ts';
import {
  ResourceManagerError,
  ResourceManagers,
} from '../../src/engine/container-manager/resource-managers/resource-managers.ts';
import type { TopologySettings } from '../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { RecordedStateFile, recordedAffinities, recordedPods, recordedResourceHints } from './manager-records.ts';

/** A machine and the settings of its managers. A manager without settings has its defaults and is not shown. */
interface NodeSettings {
  machine: { nodes: readonly RecordedNUMANode[]; cpus?: number; sockets?: number };
  cpu?: {
    policy: string;
    options?: Record<string, string>;
    reserved?: string;
    reservedCPUs?: string;
    stateFile?: string;
  };
  memory?: { policy: string; reserved?: ResourceList; reservedMemory?: MemoryReservation[]; stateFile?: string };
  topology?: Partial<TopologySettings> & Pick<TopologySettings, 'policy' | 'scope'>;
  featureGates?: Record<string, boolean>;
}

export interface RecordedNUMANode extends DescribedNode {
  memory?: number;
  hugepages?: { pageKiB: number; pages: number }[];
}

/** A case of the tables of the CPU and the memory manager. */
export interface NodeCase extends NodeSettings {
  containers?: { id: string; pod: string; container: string }[];
  steps?: Step[];
}

type Step =
  | { op: 'hints' | 'admit' | 'exclusive'; pod: Pod | string }
  | { op: 'create'; pod: Pod | string; container: string; id: string }
  | { op: 'stopped' | 'remove'; id: string }
  | { op: 'active'; uids: string[] }
  | { op: 'sources'; ready: boolean }
  | { op: 'reconcile'; statuses: Record<string, PodStatus>; fail?: string[] }
  | { op: 'restart'; with?: Partial<NodeSettings> };

/** The start and the steps of a case. */
export async function replayNode({ steps = [], containers = [], ...settings }: NodeCase): Promise<object> {
  const node = new RecordedNode(settings);
  const start = node.start(containers.map(({ id, pod, container }) => ({ id, podUID: pod, containerName: container })));
  const outs: object[] = [];
  for (const step of steps) outs.push(await node.step(step));
  return { start, ...(outs.length > 0 && { steps: outs }) };
}

interface Update {
  id: string;
  cpusetCpus: string;
  error?: string;
}

/** The managers of a node, as the steps of a case use them. */
export class RecordedNode {
  private settings: NodeSettings;
  private readonly files: { cpu: RecordedStateFile; memory: RecordedStateFile };
  private readonly pods = recordedPods();
  private active: Pod[] = [];
  private sourcesReady = true;
  private runtime: { statuses: Record<string, PodStatus>; fail: string[]; updates: Update[] } = {
    statuses: {},
    fail: [],
    updates: [],
  };
  private managers: ResourceManagers | undefined;
  private lastState: object | undefined;

  constructor(settings: NodeSettings) {
    this.settings = settings;
    this.files = {
      cpu: new RecordedStateFile('cpu_manager_state', settings.cpu?.stateFile),
      memory: new RecordedStateFile('memory_manager_state', settings.memory?.stateFile),
    };
  }

  start(containers: RuntimeContainer[]): object {
    this.managers = undefined;
    let isMade = false;
    try {
      const managers = this.make();
      isMade = true;
      managers.start(this.files, containers);
      this.managers = managers;
    } catch (error) {
      if (!(error instanceof ResourceManagerError)) throw error;
      return { failed: `${error.manager}${isMade ? 'Start' : ''}`, error: error.message, ...this.changedState() };
    }
    return { ok: true, ...this.found(this.managers), ...this.changedState() };
  }

  private found({ cpu, memory }: ResourceManagers): object {
    const { allCPUs, allocatableCPUs } = cpu;
    return {
      ...(this.settings.cpu && { allCPUs: allCPUs.toString(), allocatableCPUs: allocatableCPUs.toString() }),
      ...(this.settings.memory && { allocatableMemory: memory.allocatable().map(recordedBlock).sort(byNodeAndType) }),
    };
  }

  async step(step: Step): Promise<object> {
    if (step.op === 'restart') {
      this.settings = withChanges(this.settings, step.with ?? {});
      return this.start([]);
    }
    if (this.managers === undefined) return { skipped: 'not started' };
    return { ...(await this.take(step, this.managers)), ...this.changedState() };
  }

  private async take(step: Exclude<Step, { op: 'restart' }>, managers: ResourceManagers): Promise<object> {
    const { topology, cpu, memory } = managers;
    switch (step.op) {
      case 'hints': {
        const pod = this.pods.named(step.pod);
        return this.asIfActive(pod, () => ({
          ...(this.settings.cpu && { cpu: recordedResourceHints(cpu, pod) }),
          ...(this.settings.memory && { memory: recordedResourceHints(memory, pod) }),
        }));
      }
      case 'admit': {
        const pod = this.pods.named(step.pod);
        this.active = [...this.active.filter((other) => other.metadata.uid !== pod.metadata.uid), pod];
        const result = managers.admit(pod);
        if (!result.admit) this.active = this.active.filter((other) => other !== pod);
        return { ...result, ...(this.settings.topology && { affinity: recordedAffinities(topology, pod) }) };
      }
      case 'exclusive': {
        const pod = this.pods.named(step.pod);
        const { metadata } = pod;
        const containers = containersOf(pod).map(({ name }) => [
          name,
          {
            affinity: cpu.effectiveCPUs(metadata.uid, name).toString(),
            exclusive: cpu.exclusiveCPUs(metadata.uid, name).toString(),
          },
        ]);
        return { containers: Object.fromEntries(containers) as object };
      }
      case 'create': {
        const pod = this.pods.named(step.pod);
        const container = containersOf(pod).find(({ name }) => name === step.container) ?? { name: step.container };
        const sets = managers.cpusetsOf(pod, container);
        managers.preStart(pod, container, step.id, sets);
        return {
          ...(this.settings.cpu && { cpusetCpus: sets.cpusetCpus }),
          ...(this.settings.memory && { cpusetMems: sets.cpusetMems }),
        };
      }
      case 'stopped':
        managers.postStop(step.id);
        return { error: null };
      case 'remove':
        if (this.settings.cpu) cpu.removeContainer(step.id);
        if (this.settings.memory) memory.removeContainer(step.id);
        return { ...(this.settings.cpu && { cpu: null }), ...(this.settings.memory && { memory: null }) };
      case 'active':
        this.active = step.uids.map((uid) => this.pods.named(uid));
        return {};
      case 'sources':
        this.sourcesReady = step.ready;
        return {};
      case 'reconcile': {
        this.runtime = { statuses: step.statuses, fail: step.fail ?? [], updates: [] };
        const { success, failure } = await managers.reconcile();
        return { success: success.map(asList), failure: failure.map(asList), updates: this.runtime.updates };
      }
    }
  }

  private make(): ResourceManagers {
    const { machine, cpu, memory, topology, featureGates } = this.settings;
    return new ResourceManagers({
      settings: {
        topology: { policy: 'none', scope: 'container', options: {}, ...topology },
        cpu: {
          policy: cpu?.policy ?? 'none',
          options: cpu?.options ?? {},
          reserved: cpu?.reserved === undefined ? undefined : toQuantity(cpu.reserved),
          reservedCPUs: CPUSet.parse(cpu?.reservedCPUs ?? ''),
        },
        memory: {
          policy: memory?.policy ?? 'None',
          nodeReservation: memory?.reserved ?? {},
          reservedMemory: memory?.reservedMemory ?? [],
        },
      },
      machine,
      memory: machine.nodes.map(memoryOf),
      featureGates: resolveFeatureGates(featureGates).featureGates,
      activePods: () => this.active,
      sourcesReady: () => this.sourcesReady,
      podStatus: (uid) => this.runtime.statuses[uid],
      updateContainer: (id, cpusetCpus) => this.update(id, cpusetCpus),
    });
  }

  private update(id: string, cpusetCpus: string): Promise<void> {
    const error = this.runtime.fail.includes(id) ? 'scripted' : undefined;
    this.runtime.updates.push({ id, cpusetCpus, ...(error !== undefined && { error }) });
    return error === undefined ? Promise.resolve() : Promise.reject(new Error(error));
  }

  private asIfActive(pod: Pod, act: () => object): object {
    const before = this.active;
    this.active = [...before, pod];
    try {
      return act();
    } finally {
      this.active = before;
    }
  }

  /** The state, if it differs from the last one. */
  private changedState(): { state?: object } {
    const cpuFile = this.files.cpu.written ?? null;
    const state = {
      ...(this.settings.cpu && { cpu: { file: cpuFile, ...(this.managers && stateOf(this.managers.cpu)) } }),
      ...(this.settings.memory && { memory: recordedMemoryFile(this.files.memory.written) }),
    };
    if (isDeepStrictEqual(state, this.lastState)) return {};
    this.lastState = state;
    return { state };
  }
}

function stateOf(cpu: CPUManager): object {
  const assigned: Record<string, Record<string, string>> = {};
  for (const { podUID, containerName, cpus } of cpu.assigned) {
    (assigned[podUID] ??= {})[containerName] = cpus.toString();
  }
  return { default: cpu.sharedCPUs.toString(), assigned };
}

const asList = ({ podName, containerName, containerID }: Reconciled): string[] => [podName, containerName, containerID];

const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

function withChanges(settings: NodeSettings, { cpu, memory, ...others }: Partial<NodeSettings>): NodeSettings {
  return {
    ...settings,
    ...others,
    ...(settings.cpu && { cpu: { ...settings.cpu, ...cpu } }),
    ...(settings.memory && { memory: { ...settings.memory, ...memory } }),
  };
}

export function memoryOf({ id, memory = 0, hugepages = [] }: RecordedNUMANode): NUMAMemory {
  const hugePages = hugepages.map(({ pageKiB, pages }) => ({
    sizeBytes: BigInt(pageKiB) * 1024n,
    pages: BigInt(pages),
  }));
  return { id, bytes: BigInt(memory), hugePages };
}

function recordedBlock({ numaAffinity, type, size }: MemoryBlock): {
  numaNodes: readonly number[];
  type: string;
  size: number;
} {
  return { numaNodes: numaAffinity, type, size: Number(size) };
}

function byNodeAndType(a: ReturnType<typeof recordedBlock>, b: ReturnType<typeof recordedBlock>): number {
  return (a.numaNodes[0] ?? 0) - (b.numaNodes[0] ?? 0) || (a.type < b.type ? -1 : 1);
}

/**
 * The order of a container's blocks is random in the kubelet. With several, the file is recorded parsed, without its
 * checksum.
 */
function recordedMemoryFile(file: string | undefined): object {
  if (file === undefined) return { file: null };
  const content = parsed(file);
  const lists = Object.values(content?.entries ?? {}).flatMap((ofPod) => Object.values(ofPod));
  if (!lists.some((blocks) => blocks.length > 1)) return { file };
  for (const blocks of lists) blocks.sort((a, b) => (a.type < b.type ? -1 : 1));
  return { content: { ...content, checksum: undefined } };
}

function parsed(file: string): { entries?: Record<string, Record<string, { type: string }[]>> } | null {
  try {
    return JSON.parse(file) as ReturnType<typeof parsed>;
  } catch {
    return null;
  }
}
