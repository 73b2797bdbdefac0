import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nameServersHint } from '../../src/engine/network/resolvers.ts';
import { checkNodeFitness, missingControllers, mountedControllers } from '../../src/node/node-fitness.ts';
import { makeMachine } from '../builders/machine.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const zram = { name: '/dev/zram0', sizeBytes: 1n << 30n };

async function noted(swapBehavior: string, machine: Parameters<typeof makeMachine>[0]): Promise<string[]> {
  const logged: string[] = [];
  const note =
    (level: string) =>
    (facts: object, message: string): void => {
      if ('swap' in facts) logged.push(`${level} ${message}: ${String(facts.swap)}`);
    };
  const options = { protectKernelDefaults: false, memorySwap: { swapBehavior }, resolvConf: '' };
  await checkNodeFitness(options, makeMachine(machine), { info: note('info'), warn: note('warn') } as Parameters<
    typeof checkNodeFitness
  >[2]);
  return logged;
}

describe('swap of the machine', () => {
  const none = 'info Swap is on, but pods may not use it: /dev/zram0';

  test.each([
    ['is off', '', { swaps: [] }, []],
    ['is kept from pods', '', {}, [none]],
    ['is kept from pods on cgroup v1', 'LimitedSwap', { cgroupVersion: 1 as const }, [none]],
    ['is shared', 'LimitedSwap', {}, ['info Swap is on, and Burstable pods may use their share: /dev/zram0']],
    [
      'cannot be kept from pods',
      'NoSwap',
      { hasSwapController: false },
      ['warn Swap is on, and the kernel cannot prevent pods from using it: /dev/zram0'],
    ],
  ])('%s', async (_how, swapBehavior, machine, lines) => {
    expect(await noted(swapBehavior, { swaps: [zram], ...machine })).toEqual(lines);
  });
});

test.each([
  ['127.0.0.53', [{ resolvConf: '', nameServers: ['127.0.0.53'], hint: nameServersHint }]],
  ['192.0.2.53', []],
])('name servers that pods cannot reach are a warning: %s', async (server, warnings) => {
  const resolvConf = join(await temporaryFolder(), 'resolv.conf');
  await writeFile(resolvConf, `nameserver ${server}\n`);
  const warned: object[] = [];
  const logger = { info: () => undefined, warn: (facts: object) => warned.push(facts) };
  await checkNodeFitness(
    { protectKernelDefaults: false, memorySwap: { swapBehavior: '' }, resolvConf },
    makeMachine({ swaps: [] }),
    logger,
  );
  expect(warned.filter((facts) => 'nameServers' in facts)).toEqual(warnings.map((facts) => ({ ...facts, resolvConf })));
});

describe('controllers', () => {
  test('that the kubelet requires and the machine lacks', () => {
    expect(missingControllers(1, ['cpu', 'cpuacct', 'pids'])).toEqual(['cpuset', 'memory']);
    expect(missingControllers(2, ['cpu', 'cpuset', 'memory', 'pids'])).toEqual([]);
  });

  test('of cgroup v1 are the options of its mounts', () => {
    const mountInfo = `31 24 0:26 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755
32 31 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
33 31 0:28 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd
36 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
`;
    expect(mountedControllers(mountInfo)).toEqual(['rw', 'xattr', 'name=systemd', 'rw', 'cpu', 'cpuacct']);
  });
});
