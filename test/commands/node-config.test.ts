import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { nodeConfig } from '../../src/commands/node-config.ts';
import { addNodeOptions } from '../../src/commands/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../../src/commands/node-options.ts';
import type { NodeConfig } from '../../src/engine/node-config.ts';
import { UserError } from '../../src/errors.ts';
import { makeMachine } from '../builders/machine.ts';

/** The node that these flags make of a machine of four processors and 8 GiB. */
async function nodeOf(...flags: string[]): Promise<NodeConfig> {
  const command = addNodeOptions(new Command('run')).parse(flags, { from: 'user' });
  return nodeConfig(await nodeOptions(command.opts<NodeFlags>(), []), makeMachine(), 'cgroupfs');
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
    await expect(nodeOf(flag)).rejects.toThrow(`more ${resource} is reserved than the node has`);
  });

  test('labels the node as Kubernetes does', async () => {
    const { labels } = await nodeOf('--hostname-override=edge1', '--node-labels=disk=ssd');
    expect(labels).toMatchObject({ 'kubernetes.io/hostname': 'edge1', 'kubernetes.io/os': 'linux', disk: 'ssd' });
  });
});
