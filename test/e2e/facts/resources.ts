import type { CgroupController } from '../../../src/engine/container-manager/cgroup-mounts.ts';
import { makePod, serve, shell } from '../manifests.ts';
import type { FactMachine } from './fact-machine.ts';
import type { FactGroup, Facts } from './fact-pods.ts';

const mebibyte = 1024 ** 2;

/**
 * A setting in a container's own cgroup: file and value by cgroup version. If the controller is missing, there is none.
 */
function setting(
  { cgroupVersion, controllers }: FactMachine,
  controller: CgroupController,
  v1: readonly [file: string, value: string],
  v2: readonly [file: string, value: string],
): readonly [string, string] {
  const [file, value] = cgroupVersion === 1 ? v1 : v2;
  const folder = cgroupVersion === 1 ? `/sys/fs/cgroup/${controller}` : '/sys/fs/cgroup';
  const isThere = controllers.has(controller);
  return [`cat ${folder}/${file} 2>/dev/null || echo none`, isThere ? value : 'none'];
}

function limits(machine: FactMachine, wanted: { shares: number; quota: number; memory: number | undefined }): Facts {
  const { shares, quota, memory } = wanted;
  const weight = 1 + Math.floor(((shares - 2) * 9999) / 262142);
  const bytes = memory === undefined ? undefined : String(memory * mebibyte);
  return {
    'its share of the CPU': setting(machine, 'cpu', ['cpu.shares', String(shares)], ['cpu.weight', String(weight)]),
    'its limit of CPU': setting(
      machine,
      'cpu',
      ['cpu.cfs_quota_us', String(quota === 0 ? -1 : quota)],
      ['cpu.max', `${quota === 0 ? 'max' : String(quota)} 100000`],
    ),
    'its limit of memory': setting(
      machine,
      'memory',
      ['memory.limit_in_bytes', bytes ?? '9223372036854771712'],
      ['memory.max', bytes ?? 'max'],
    ),
  };
}

/** Without CAP_SYS_RESOURCE, no process gets a score below the node's, which is then left unchanged. */
function oomScore({ capabilities, oomScoreAdj }: FactMachine, wanted: number): Facts {
  const capSysResource = 1n << 24n;
  const canLower = (capabilities & capSysResource) !== 0n;
  return {
    'when it is killed for want of memory': [
      'cat /proc/1/oom_score_adj',
      String(canLower ? wanted : Math.max(wanted, oomScoreAdj)),
    ],
  };
}

/** Starts processes until it cannot start more, then ends them. Prints what the shell says then. */
const fillProcesses = `(
  trap 'kill -9 $pids' EXIT
  for i in $(seq 120); do sleep 300 > /dev/null & pids="$pids $!"; done
) 2>&1 | cut -d: -f2`;

const guaranteed = { limits: { cpu: '500m', memory: '64Mi' } };
const burstable = { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '128Mi' } };

/** The resources that containers may use. */
export const resources: FactGroup = {
  title: 'resources',
  pods: (machine) => [
    {
      name: 'guaranteed',
      pod: makePod('guaranteed', { containers: [shell('app', serve, { resources: guaranteed })] }),
      facts: { app: { ...limits(machine, { shares: 512, quota: 50000, memory: 64 }), ...oomScore(machine, -997) } },
    },
    {
      name: 'burstable',
      pod: makePod('burstable', {
        containers: [shell('app', serve, { resources: burstable }), shell('helper', serve)],
      }),
      facts: {
        app: {
          ...limits(machine, { shares: 102, quota: 0, memory: 128 }),
          ...oomScore(machine, burstableScore(machine)),
        },
        helper: { ...limits(machine, { shares: 2, quota: 0, memory: undefined }), ...oomScore(machine, 999) },
      },
    },
    {
      name: 'best-effort',
      pod: makePod('best-effort', { containers: [shell('app', serve)] }),
      facts: {
        app: {
          ...limits(machine, { shares: 2, quota: 0, memory: undefined }),
          ...oomScore(machine, 1000),
          'it has the files that the node may open': [
            'ulimit -Hn; ulimit -Sn',
            `${machine.openFiles}\n${machine.openFiles}`,
          ],
          'shared memory is as runtimes make it': ["df -k /dev/shm | awk 'NR > 1 { print $2 }'", '65536'],
          'the pod has no more processes than the node lets it': [
            fillProcesses,
            machine.controllers.has('pids') ? "can't fork" : '',
          ],
        },
      },
    },
  ],
};

const burstableScore = ({ memoryBytes }: FactMachine): number =>
  Math.max(3, 1000 - Number((1000n * BigInt(32 * mebibyte)) / memoryBytes));
