import { readFile } from 'node:fs/promises';
import { readCgroupMounts } from '../engine/container-manager/cgroup-mounts.ts';
import type { Machine } from '../engine/container-manager/machine.ts';
import { readMountInfo } from '../engine/host/mount-info.ts';
import { leadsNowhere, nameServersHint, readResolvers } from '../engine/network/resolvers.ts';
import type { Kubelet } from '../engine/kubelet.ts';
import { reasons } from '../engine/view/reasons.ts';
import { hasCode } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { requireKernelTunables } from './kernel-tunables.ts';
import type { NodeOptions } from './options/node-options.ts';

/** kubelet: cm/container_manager_linux.go validateSystemRequirements */
const requiredControllers = { 1: ['cpu', 'cpuacct', 'cpuset', 'memory'], 2: ['cpu', 'cpuset', 'memory'] } as const;

/**
 * Compares the machine with the requirements of the kubelet, and logs the differences. Throws a `UserError` for kernel
 * settings if protectKernelDefaults is set. Pods run despite the other differences, which the kubelet refuses.
 */
export async function checkNodeFitness(
  options: Pick<NodeOptions, 'protectKernelDefaults' | 'memorySwap' | 'resolvConf'>,
  machine: Machine,
  logger: Pick<Logger, 'info' | 'warn'>,
  mountInfo?: string,
): Promise<void> {
  if (options.protectKernelDefaults) await requireKernelTunables();
  const { cgroupVersion } = machine;
  const missing = missingControllers(cgroupVersion, await offeredControllers(cgroupVersion, mountInfo));
  if (missing.length > 0) {
    const hint = 'Add cgroup_enable=NAME to the command line of the kernel, or mount the controllers.';
    logger.warn({ missing, hint }, 'Cgroup controllers are missing, so pods run without their limits');
  }
  logSwap(options, machine, logger);
  await checkNameServers(options, logger);
}

/** Each pod reports a file that cannot be read. */
async function checkNameServers(
  { resolvConf }: Pick<NodeOptions, 'resolvConf'>,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const resolvers = resolvConf === '' ? undefined : await readResolvers(resolvConf).catch(() => undefined);
  if (resolvers === undefined || !leadsNowhere(resolvers.ownNetwork)) return;
  const facts = { resolvConf, nameServers: resolvers.host.servers, hint: nameServersHint };
  logger.warn(facts, 'Pods with their own network cannot reach a name server');
}

function logSwap(
  { memorySwap }: Pick<NodeOptions, 'memorySwap'>,
  { swaps, hasSwapController, cgroupVersion }: Machine,
  logger: Pick<Logger, 'info' | 'warn'>,
): void {
  const names = swaps.map(({ name }) => name);
  if (swaps.length === 0) return;
  if (!hasSwapController) logger.warn({ swap: names }, 'Swap is on, and the kernel cannot prevent pods from using it');
  else if (memorySwap.swapBehavior === 'LimitedSwap' && cgroupVersion === 2) {
    logger.info({ swap: names }, 'Swap is on, and Burstable pods may use their share');
  } else logger.info({ swap: names }, 'Swap is on, but pods may not use it');
}

/** The required controllers that are not among the offered ones. */
export function missingControllers(version: 1 | 2, offered: readonly string[]): string[] {
  return requiredControllers[version].filter((name) => !offered.includes(name));
}

/** Empty without cgroups, as in some containers. */
export async function offeredControllers(version: 1 | 2, mountInfo?: string): Promise<string[]> {
  try {
    if (version === 1) return mountedControllers(mountInfo ?? (await readMountInfo()));
    return (await readFile('/sys/fs/cgroup/cgroup.controllers', 'utf8')).trim().split(' ');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Controllers of the mounted hierarchies of cgroup v1. */
export function mountedControllers(mountInfo: string): string[] {
  const mounts = mountInfo.split('\n').filter((line) => line.includes(' - cgroup '));
  return mounts.flatMap((line) => line.split(' ').at(-1)?.split(',') ?? []);
}

/** Records the warning of a kubelet with failCgroupV1: false. kubelet: container_manager_linux.go */
export async function warnOfCgroupV1(kubelet: Pick<Kubelet, 'recordNodeWarning'>): Promise<void> {
  const { version } = await readCgroupMounts(await readMountInfo());
  if (version === 1) kubelet.recordNodeWarning({ reason: reasons.cgroupV1, message: cgroupV1Warning });
}

const cgroupV1Warning =
  'This node has cgroup v1, on which kubelets since Kubernetes 1.35 start only with failCgroupV1: false. ' +
  'Boot it with cgroup v2: systemd.unified_cgroup_hierarchy=1';
