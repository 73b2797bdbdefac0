import { posix } from 'node:path';
import type { QOSClass } from '../../api/values/qos.ts';
import { UserError } from '../../errors.ts';

export const cgroupDrivers = ['cgroupfs', 'systemd'] as const;
export type CgroupDriver = (typeof cgroupDrivers)[number];

/** Path of a cgroup from the root, as a list of names without the driver's escaping. kubelet: cm/types.go CgroupName */
export type CgroupName = readonly string[];

/** Names of the cgroups over all pods and over each QoS class. */
export interface QOSCgroups {
  root: CgroupName;
  Guaranteed: CgroupName;
  Burstable: CgroupName;
  BestEffort: CgroupName;
}

const podCgroupPrefix = 'pod';
const systemdSuffix = '.slice';

/** The cgroups over pods below the configured cgroupRoot. kubelet: cm/qos_container_manager_linux.go Start */
export function qosCgroups(cgroupRoot: string): QOSCgroups {
  const root = [...parseCgroupfs(cgroupRoot), 'kubepods'];
  return { root, Guaranteed: root, Burstable: [...root, 'burstable'], BestEffort: [...root, 'besteffort'] };
}

/** The cgroup of one pod. kubelet: cm/pod_container_manager_linux.go GetPodContainerName */
export function podCgroupName(cgroupRoot: string, qosClass: QOSClass, podUID: string): CgroupName {
  if (!canNameCgroup(podUID)) {
    throw new UserError(`metadata.uid "${podUID}" has a character that is not allowed in cgroup names`, {
      hint: 'Remove metadata.uid, or write it without "/" and "_".',
    });
  }
  return [...qosCgroups(cgroupRoot)[qosClass], podCgroupPrefix + podUID];
}

/** False if the UID contains "/" or "_". "_" stands for "-" in systemd names and could not be read back. */
export function canNameCgroup(podUID: string): boolean {
  return !/[/_\0]/.test(podUID);
}

/**
 * Path of a cgroup below the cgroup mount, in the form of a sandbox's `cgroup_parent`. kubelet:
 * cm/cgroup_manager_linux.go ToCgroupfs, ToSystemd
 */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? systemdPath(name) : `/${name.join('/')}`;
}

/** The cgroup at a path in the driver's form. kubelet: cm/cgroup_manager_linux.go CgroupName */
export function parseCgroupPath(path: string, driver: CgroupDriver): CgroupName {
  return driver === 'systemd' ? parseSystemd(path) : parseCgroupfs(path);
}

/**
 * The UID of the pod whose cgroup is at this path. Returns undefined if it is not the cgroup of a pod. kubelet:
 * cm/pod_container_manager_linux.go IsPodCgroup
 */
export function podUIDOfCgroup(path: string, cgroupRoot: string, driver: CgroupDriver): string | undefined {
  const name = parseCgroupPath(path, driver);
  const parents = qosCgroups(cgroupRoot);
  const isBelowTier = [parents.BestEffort, parents.Burstable, parents.Guaranteed].some(
    (parent) => name.length === parent.length + 1,
  );
  const last = name.at(-1);
  if (!isBelowTier || !last?.startsWith(podCgroupPrefix)) return undefined;
  const [, uid, ...rest] = last.split(podCgroupPrefix);
  return rest.length === 0 ? uid : undefined;
}

/** systemd puts `a-b.slice` in `a.slice`, so the path contains every ancestor. */
function systemdPath(name: CgroupName): string {
  const escaped = name.map((part) => part.replaceAll('-', '_'));
  const slices = escaped.map((_, index) => escaped.slice(0, index + 1).join('-') + systemdSuffix);
  return `/${slices.join('/')}`;
}

function parseCgroupfs(path: string): CgroupName {
  return path.split('/').filter((part) => part !== '');
}

function parseSystemd(path: string): CgroupName {
  return posix
    .basename(path, systemdSuffix)
    .split('-')
    .map((part) => part.replaceAll('_', '-'));
}
