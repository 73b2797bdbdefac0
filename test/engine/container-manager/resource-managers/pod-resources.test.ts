import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../../../src/api/values/quantity.ts';
import { DiskStateFile } from '../../../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { PodResources } from '../../../../src/engine/container-manager/resource-managers/pod-resources.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

type CPUOptions = Readonly<Record<string, string>>;

/** Four CPUs, the first of them reserved, and a plugin that gives every container what it asks for. */
async function makeResources({ policy = 'best-effort', options = {} }: { policy?: string; options?: CPUOptions } = {}) {
  const [folder, clock, logger] = [await temporaryFolder(), new FakeClock(), silentLogger];
  const open = async (name: string): Promise<DiskStateFile> => {
    const file = await DiskStateFile.open({ path: join(folder, name), clock, logger });
    onTestFinished(() => file.close());
    return file;
  };
  const active: Pod[] = [];
  const counted: string[] = [];
  const resources = new PodResources(
    {
      settings: {
        topology: { policy, scope: 'container', options: {} },
        cpu: { policy: 'static', options, reserved: toQuantity('1'), reservedCPUs: CPUSet.parse('0') },
        memory: { policy: 'None', nodeReservation: {}, reservedMemory: [] },
      },
      machine: { nodes: [{ id: 0, cores: [0, 1, 2, 3].map((cpu) => ({ socket: 0, threads: [cpu] })) }] },
      memory: [],
      featureGates: defaultFeatureGates,
      files: { cpu: await open('cpu'), memory: await open('memory') },
      reconcilePeriodMs: 10_000,
      clock,
      logger,
    },
    {
      activePods: () => active,
      sourcesReady: () => true,
      podStatus: () => undefined,
      updateContainer: () => Promise.resolve(),
      meter: {
        count: (name, labels) => counted.push([name, ...Object.values(labels)].join(' ')),
        set: () => undefined,
        setSeries: () => undefined,
      },
      devices: {
        hints: () => undefined,
        podHints: () => undefined,
        allocate: () => undefined,
        allocateByPlugin: () => Promise.resolve(),
      },
    },
  );
  await resources.start();
  return { resources, active, counted };
}

function podWith(uid: string, cpu: string): Pod {
  const amounts = { cpu, memory: '64Mi' };
  const container = makeContainer({ name: 'main', resources: { requests: amounts, limits: amounts } });
  return makePod({ metadata: { uid }, spec: { containers: [container] } });
}

test('a pod keeps its CPUs from the answers of plugins until it starts, unless it is removed', async () => {
  const { resources, active } = await makeResources();
  const awaited = new Set(['started', 'removed']);
  const admitWithPlugins = (pod: Pod) => resources.admitWithPlugins(pod, () => awaited.has(pod.metadata.uid));
  const cpus = (): object =>
    Object.fromEntries(['started', 'removed', 'other'].map((uid) => [uid, resources.resourcesOf(uid, 'main').cpus]));
  const started = podWith('started', '1');
  await admitWithPlugins(started);
  await admitWithPlugins(podWith('removed', '1'));
  const early = resources.admit(podWith('other', '2'));
  const before = cpus();
  active.push(started);
  awaited.clear();
  const late = resources.admit(podWith('other', '2'));
  expect({ early, before, late, after: cpus() }).toEqual({
    early: {
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message:
        'Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, ' +
        'which is unexpected',
    },
    before: { started: [1], removed: [2], other: [] },
    late: { admit: true },
    after: { started: [1], removed: [], other: [2, 3] },
  });
});

test('whether containers got CPUs of one NUMA node and whole cores is counted', async () => {
  const { resources, active, counted } = await makeResources({
    policy: 'single-numa-node',
    options: { 'full-pcpus-only': 'true' },
  });
  active.push(podWith('one', '2'), podWith('two', '2'));
  const admitted = active.map((pod) => resources.admit(pod).admit);
  expect(admitted).toEqual([true, false]);
  expect(counted.filter((line) => line.includes('aligned'))).toEqual([
    'kubelet_container_aligned_compute_resources_count physical_cpu container',
    'kubelet_container_aligned_compute_resources_count numa_node container',
    'kubelet_container_aligned_compute_resources_failure_count numa_node container',
  ]);
});
