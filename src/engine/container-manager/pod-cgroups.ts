import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import type { NodeConfig } from '../node-config.ts';
import { cgroupPath, podCgroupName } from './cgroup-names.ts';

const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort'] as const;

/** Takes away the cgroups of pods that have terminated. The runtime makes them with the first container. */
export class PodCgroups {
  private readonly node: Pick<NodeConfig, 'cgroupsPerQOS' | 'cgroupDriver' | 'cgroupRoot'>;
  private readonly cgroupMount: string;

  constructor(deps: { node: Pick<NodeConfig, 'cgroupsPerQOS' | 'cgroupDriver' | 'cgroupRoot'>; cgroupMount?: string }) {
    this.node = deps.node;
    this.cgroupMount = deps.cgroupMount ?? '/sys/fs/cgroup';
  }

  /** Removes the pod's cgroup from every hierarchy. Absent is fine; one in use rejects. systemd removes its own. */
  async removePodCgroup(podUID: string): Promise<void> {
    const { cgroupsPerQOS, cgroupDriver, cgroupRoot } = this.node;
    if (!cgroupsPerQOS || cgroupDriver !== 'cgroupfs') return;
    // The manifest may be gone, so its QoS class is not known.
    const paths = qosClasses.map((qos) => cgroupPath(podCgroupName(cgroupRoot, qos, podUID), cgroupDriver));
    for (const hierarchy of await this.hierarchies()) {
      for (const path of paths) await removeCgroup(join(hierarchy, path));
    }
  }

  /** The mount itself on cgroup v2, one folder per controller on v1. */
  private async hierarchies(): Promise<string[]> {
    const entries = await readdir(this.cgroupMount, { withFileTypes: true });
    if (entries.some(({ name }) => name === 'cgroup.controllers')) return [this.cgroupMount];
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(this.cgroupMount, name));
  }
}

/** Cgroups are removed from the leaves up, each by rmdir; their files go with them. */
async function removeCgroup(path: string): Promise<void> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
    await rmdir(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
