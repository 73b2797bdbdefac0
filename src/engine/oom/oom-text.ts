import { cgroupSteps } from './cgroup-place.ts';
import type { KernelOOM } from './kernel-ooms.ts';

/** Begins every message about a container, so that a history counts them as one kind. */
const outOfMemory = 'Out of memory';

/** The message of a node's event. kubelet: oom/oom_watcher_linux.go Start */
export function systemOOMText({ name, pid }: KernelOOM): string {
  return `System OOM encountered, victim process: ${name}, pid: ${pid}`;
}

/** The message of a kill in a container, such as `Out of memory: killed process 7 (app), anon-rss 60Mi, …`. */
export function containerOOMText(oom: KernelOOM, podUID: string, containerID: string): string {
  const { pid, name, anonKi, fileKi, shmemKi, isWholeCgroup } = oom;
  const others = isWholeCgroup ? ' and all other processes of its cgroup' : '';
  const memory = `anon-rss ${kibibytes(anonKi)}, file-rss ${kibibytes(fileKi)}, shmem-rss ${kibibytes(shmemKi)}`;
  return `${outOfMemory}: killed process ${pid} (${name})${others}, ${memory}; ${cause(oom, podUID, containerID)}`;
}

/** The same if the kernel's log does not have the kill. `limit` is that of the container's manifest. */
export function plainOOMText(limit: string | undefined): string {
  return `${outOfMemory}: a process was killed${limit === undefined ? '' : `; limit of the container ${limit}`}`;
}

/** A hint for the user. */
export function oomHint(isSystem: boolean): string {
  return isSystem
    ? 'Give the pods memory limits, or reserve more memory for the system with --system-reserved.'
    : 'Find out why its memory grows, or raise resources.limits.memory.';
}

function cause({ isSystem, limitCgroup, limitKi }: KernelOOM, podUID: string, containerID: string): string {
  if (isSystem) return 'the machine ran out of memory';
  const limit = limitKi === undefined ? '' : ` ${kibibytes(limitKi)}`;
  if (limitCgroup === undefined) return 'a memory limit was reached';
  const steps = cgroupSteps(limitCgroup);
  if (steps.some((step) => step.containerID === containerID)) return `limit of the container${limit}`;
  if (steps.some((step) => step.podUID === podUID)) return `limit of the pod${limit}`;
  return `limit of the cgroup ${limitCgroup}${limit}`;
}

function kibibytes(amount: number): string {
  if (amount === 0) return '0';
  return amount % 1024 === 0 ? `${amount / 1024}Mi` : `${amount}Ki`;
}
