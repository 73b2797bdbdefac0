import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../../src/api/types.ts';
import { resolveFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../../src/api/values/quantity.ts';
import { errorMessage } from '../../../src/errors.ts';
import { CPUSet } from '../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import type { DescribedMachine } from '../../../src/engine/container-manager/cpu-topology/cpu-topology.ts';
import { CPUManager, type Reconciled } from '../../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import {
  TopologyManager,
  type TopologySettings,
} from '../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { RecordedStateFile, recordedAffinities, recordedPods, recordedResourceHints } from '../manager-records.ts';
import { tableAdapter } from '../table-adapter.ts';

interface Settings {
  machine: DescribedMachine;
  cpu: { policy: string; options?: Record<string, string>; reserved?: string; reservedCPUs?: string };
  topology?: Partial<TopologySettings> & Pick<TopologySettings, 'policy' | 'scope'>;
  featureGates?: Record<string, boolean>;
}

interface In extends Settings {
  cpu: Settings['cpu'] & { stateFile?: string };
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
  | { op: 'restart'; with?: Partial<Settings> };

export const cpuManager = tableAdapter<In>('cpu-manager', async ({ steps = [], containers = [], ...settings }) => {
  const node = new RecordedNode(settings);
  const start = node.start(containers.map(({ id, pod, container }) => ({ id, podUID: pod, containerName: container })));
  const outs: object[] = [];
  for (const step of steps) outs.push(await node.step(step));
  return { start, ...(outs.length > 0 && { steps: outs }) };
});

interface Update {
  id: string;
  cpusetCpus: string;
  error?: string;
}

class RecordedNode {
  private settings: Settings;
  private readonly file: RecordedStateFile;
  private readonly pods = recordedPods();
  private active: Pod[] = [];
  private sourcesReady = true;
  private runtime: { statuses: Record<string, PodStatus>; fail: string[]; updates: Update[] } = {
    statuses: {},
    fail: [],
    updates: [],
  };
  private managers: { cpu: CPUManager; topology: TopologyManager } | undefined;
  private lastState: object | undefined;

  constructor(settings: Omit<In, 'steps' | 'containers'>) {
    this.settings = settings;
    this.file = new RecordedStateFile('cpu_manager_state', settings.cpu.stateFile);
  }

  start(containers: { id: string; podUID: string; containerName: string }[]): object {
    this.managers = undefined;
    let failed = 'cpu';
    try {
      const managers = this.make();
      failed = 'cpuStart';
      managers.cpu.start(this.file, containers);
      this.managers = managers;
    } catch (error) {
      return { failed, error: errorMessage(error), ...this.changedState() };
    }
    const { allCPUs, allocatableCPUs } = this.managers.cpu;
    const found = { allCPUs: allCPUs.toString(), allocatableCPUs: allocatableCPUs.toString() };
    return { ok: true, ...found, ...this.changedState() };
  }

  async step(step: Step): Promise<object> {
    if (step.op === 'restart') {
      const { cpu, ...others } = step.with ?? {};
      this.settings = { ...this.settings, ...others, cpu: { ...this.settings.cpu, ...cpu } };
      return this.start([]);
    }
    if (this.managers === undefined) return { skipped: 'not started' };
    return { ...(await this.take(step, this.managers)), ...this.changedState() };
  }

  private async take(
    step: Exclude<Step, { op: 'restart' }>,
    { cpu, topology }: { cpu: CPUManager; topology: TopologyManager },
  ): Promise<object> {
    switch (step.op) {
      case 'hints': {
        const pod = this.pods.named(step.pod);
        return this.asIfActive(pod, () => ({ cpu: recordedResourceHints(cpu, pod) }));
      }
      case 'admit': {
        const pod = this.pods.named(step.pod);
        this.active = [...this.active.filter((other) => other.metadata.uid !== pod.metadata.uid), pod];
        const result = topology.admit(pod);
        if (!result.admit) this.active = this.active.filter((other) => other !== pod);
        return { ...result, ...(this.settings.topology && { affinity: recordedAffinities(topology, pod) }) };
      }
      case 'exclusive': {
        const { metadata, spec } = this.pods.named(step.pod);
        const containers = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => [
          name,
          {
            affinity: cpu.effectiveCPUs(metadata.uid, name).toString(),
            exclusive: cpu.exclusiveCPUs(metadata.uid, name).toString(),
          },
        ]);
        return { containers: Object.fromEntries(containers) as object };
      }
      case 'create': {
        const { uid } = this.pods.named(step.pod).metadata;
        const cpus = cpu.effectiveCPUs(uid, step.container);
        cpu.addContainer(uid, step.container, step.id, cpus);
        topology.addContainer(uid, step.container, step.id);
        return { cpusetCpus: cpus.toString() };
      }
      case 'stopped':
        topology.removeContainer(step.id);
        return { error: null };
      case 'remove':
        cpu.removeContainer(step.id);
        return { cpu: null };
      case 'active':
        this.active = step.uids.map((uid) => this.pods.named(uid));
        return {};
      case 'sources':
        this.sourcesReady = step.ready;
        return {};
      case 'reconcile': {
        this.runtime = { statuses: step.statuses, fail: step.fail ?? [], updates: [] };
        const { success, failure } = await cpu.reconcile();
        return { success: success.map(asList), failure: failure.map(asList), updates: this.runtime.updates };
      }
    }
  }

  private make(): { cpu: CPUManager; topology: TopologyManager } {
    const { machine, cpu, topology: topologySettings } = this.settings;
    const { featureGates } = resolveFeatureGates(this.settings.featureGates);
    const topology = new TopologyManager({
      settings: { policy: 'none', scope: 'container', options: {}, ...topologySettings },
      nodes: machine.nodes,
      featureGates,
    });
    const manager = new CPUManager({
      settings: {
        policy: cpu.policy,
        options: cpu.options ?? {},
        reserved: cpu.reserved === undefined ? undefined : toQuantity(cpu.reserved),
        reservedCPUs: CPUSet.parse(cpu.reservedCPUs ?? ''),
      },
      machine,
      affinities: topology,
      featureGates,
      activePods: () => this.active,
      sourcesReady: () => this.sourcesReady,
      podStatus: (uid) => this.runtime.statuses[uid],
      updateContainer: (id, cpusetCpus) => this.update(id, cpusetCpus),
    });
    topology.addHintProvider(manager);
    return { cpu: manager, topology };
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
    const file = this.file.written ?? null;
    const state = this.managers === undefined ? { file } : { file, ...stateOf(this.managers.cpu) };
    if (isDeepStrictEqual(state, this.lastState)) return {};
    this.lastState = state;
    return { state: { cpu: state } };
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
