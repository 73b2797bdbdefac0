import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { nodeConfig } from '../../src/node/node-config.ts';
import { addNodeOptions } from '../../src/node/options/node-flags.ts';
import { type NodeFlags, type NodeOptions, nodeOptions } from '../../src/node/options/node-options.ts';
import type { NodeConfig } from '../../src/engine/config/node-config.ts';
import { UserError } from '../../src/errors.ts';
import { makeMachine } from '../builders/machine.ts';
import { fixedNode } from '../builders/node-config.ts';

/** The node that these flags make of a machine of four processors and 8 GiB. */
async function nodeOf(...flags: string[]): Promise<NodeConfig> {
  return nodeConfig(await optionsOf(...flags), makeMachine(), fixedNode);
}

function optionsOf(...flags: string[]): Promise<NodeOptions> {
  const command = addNodeOptions(new Command('run')).parse(flags, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), []);
}

describe('nodeConfig', () => {
  test('offers pods what the machine has, less what is kept free before pods are evicted', async () => {
    const { capacity, allocatable } = await nodeOf();
    expect(capacity).toEqual({
      cpu: '4',
      memory: '8Gi',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
      pods: '110',
    });
    expect(allocatable).toEqual({
      cpu: '4',
      memory: '7068Mi',
      'ephemeral-storage': '96636764000',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
      pods: '110',
    });
  });

  test('keeps from pods what is reserved', async () => {
    const { allocatable } = await nodeOf('--system-reserved=cpu=500m,memory=1Gi', '--kube-reserved=cpu=500m');
    expect(allocatable).toMatchObject({ cpu: '3', memory: '6044Mi' });
  });

  test('CPUs that are reserved by number count in place of every other amount of them', async () => {
    const { allocatable } = await nodeOf('--reserved-cpus=0,2', '--system-reserved=cpu=500m', '--kube-reserved=cpu=1');
    expect(allocatable).toMatchObject({ cpu: '2' });
  });

  test('counts pods for each processor, never beyond --max-pods', async () => {
    expect((await nodeOf('--pods-per-core=2')).allocatable['pods']).toBe('8');
    expect((await nodeOf('--pods-per-core=50')).allocatable['pods']).toBe('110');
  });

  test.each([
    ['cpu', '--system-reserved=cpu=5'],
    ['memory', '--kube-reserved=memory=8Gi'],
    ['pid', '--system-reserved=pid=40000'],
  ])('refuses to reserve more %s than there is', async (resource, flag) => {
    await expect(nodeOf(flag)).rejects.toThrow(UserError);
    await expect(nodeOf(flag)).rejects.toMatchObject({
      message: expect.stringContaining(`more ${resource} is reserved than the node has`) as string,
      hint: 'Lower --system-reserved, --kube-reserved or the eviction thresholds.',
    });
  });

  test('is not made of a machine with swap if the user set failSwapOn', async () => {
    const swaps = ['/dev/zram0', '/swap'].map((name) => ({ name, sizeBytes: 1n << 30n }));
    const machine = makeMachine({ swaps });
    const refused = optionsOf('--fail-swap-on').then((options) => nodeConfig(options, machine, fixedNode));
    await expect(refused).rejects.toThrow('swap is on (/dev/zram0, /swap), and failSwapOn is set');
    for (const flags of [[], ['--fail-swap-on=false']]) {
      const { isTmpfsSwapped, containerNode } = nodeConfig(await optionsOf(...flags), machine, fixedNode);
      expect([isTmpfsSwapped, containerNode.resources.swapForPodsBytes]).toEqual([true, 0n]);
    }
  });

  test('has MemoryQoS with its gate, on cgroup v2 only', async () => {
    const memoryQoSOf = async (cgroupVersion: 1 | 2, ...flags: string[]) => {
      const options = { ...(await optionsOf(...flags)), memoryReservationPolicy: 'TieredReservation' };
      return nodeConfig(options, makeMachine({ cgroupVersion }), fixedNode).containerNode.resources.memoryQoS;
    };
    const gate = '--feature-gates=MemoryQoS=true';
    expect([await memoryQoSOf(2), await memoryQoSOf(1, gate)]).toEqual([undefined, undefined]);
    const allocatableMemoryBytes = 7068n * 2n ** 20n;
    expect(await memoryQoSOf(2, gate)).toEqual({ throttlingFactor: 0.9, allocatableMemoryBytes, reservesMemory: true });
  });

  test('lets pods swap with LimitedSwap, and keeps memory-backed volumes out if the kernel can', async () => {
    const swaps = [1n, 2n].map((sizeBytes) => ({ name: '/swap', sizeBytes }));
    const options = { ...(await optionsOf()), memorySwap: { swapBehavior: 'LimitedSwap' } };
    const { isTmpfsSwapped, containerNode } = nodeConfig(
      options,
      makeMachine({ swaps, hasTmpfsNoswap: true }),
      fixedNode,
    );
    expect([isTmpfsSwapped, containerNode.resources.swapForPodsBytes]).toEqual([false, 3n]);
  });

  test.each([
    [[], { isEnabled: true, isPinning: false }],
    [['--in-place=false'], { isEnabled: false, isPinning: false }],
    [['--cpu-manager-policy=static', '--reserved-cpus=0'], { isEnabled: true, isPinning: true }],
    [['--memory-manager-policy=Static', '--reserved-memory=0:memory=100Mi'], { isEnabled: true, isPinning: true }],
  ])('with %j pods change in place so: %j', async (flags, inPlace) => {
    expect((await nodeOf(...flags)).inPlace).toEqual(inPlace);
  });

  test('has no ephemeral storage to offer when that is not isolated', async () => {
    const { capacity, allocatable } = await nodeOf('--local-storage-capacity-isolation=false');
    expect([capacity['ephemeral-storage'], allocatable['ephemeral-storage']]).toEqual([undefined, undefined]);
  });

  test('is what the configuration says', async () => {
    const flags = ['--sync-frequency=30s', '--cgroup-root=/agents', '--feature-gates=ImageVolume=true'];
    expect(await nodeOf(...flags)).toMatchObject({
      syncFrequencyMs: 30_000,
      maxContainerRestartPeriodMs: 300_000,
      localStorageCapacityIsolation: true,
      cgroupRoot: '/agents',
      featureGates: { ...defaultFeatureGates, ImageVolume: true },
    });
  });

  test('refuses cgroup v1 if failCgroupV1 is set', async () => {
    const options = await optionsOf('--fail-cgroupv1');
    expect(() => nodeConfig(options, makeMachine({ cgroupVersion: 1 }), fixedNode)).toThrow(
      'this machine has cgroup v1 and failCgroupV1 is set',
    );
    expect(() => nodeConfig(options, makeMachine(), fixedNode)).not.toThrow();
  });

  test('labels the node as Kubernetes does', async () => {
    const { labels } = await nodeOf('--hostname-override=edge1', '--node-labels=disk=ssd');
    expect(labels).toMatchObject({ 'kubernetes.io/hostname': 'edge1', 'kubernetes.io/os': 'linux', disk: 'ssd' });
  });
});
