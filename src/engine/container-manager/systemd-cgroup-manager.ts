import { basename } from 'node:path';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { CgroupManager, CgroupRefusal } from './cgroup-manager.ts';
import { type CgroupName, cgroupPath } from './cgroup-names.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';
import { newSliceProperties, sliceLimits } from './slice-properties.ts';
import type { Systemd } from './systemd.ts';

interface Deps {
  systemd: Systemd;
  /** The same cgroups as folders, with systemd's names. */
  folders: CgroupManager;
  cgroupVersion: 1 | 2;
  logger: Logger;
}

/** The ancestor of all slices. */
const rootSlice = '-.slice';

/**
 * Manages cgroups as systemd slices. Also writes limits to the cgroup files, because systemd lacks some limits and
 * rounds others. If systemd fails, only the files are written, and they last until systemd reloads. kubelet:
 * opencontainers/cgroups systemd/
 */
export class SystemdCgroupManager implements CgroupManager {
  private loggedFailure = false;

  constructor(private readonly deps: Deps) {}

  exists(name: CgroupName): Promise<boolean> {
    return this.deps.folders.exists(name);
  }

  async apply(name: CgroupName, limits: CgroupLimits): Promise<CgroupRefusal[]> {
    const { systemd, folders, cgroupVersion } = this.deps;
    const unit = unitOf(name);
    await this.callSystemd(async () => {
      const parent = name.length > 1 ? unitOf(name.slice(0, -1)) : rootSlice;
      await systemd.startTransientUnit(unit, newSliceProperties(unit, parent, cgroupVersion));
      await systemd.setUnitProperties(unit, sliceLimits(limits, cgroupVersion));
    });
    return folders.apply(name, limits);
  }

  memoryUsageBytes(name: CgroupName): Promise<bigint> {
    return this.deps.folders.memoryUsageBytes(name);
  }

  hasMemoryQoS(path: string): Promise<boolean> {
    return this.deps.folders.hasMemoryQoS(path);
  }

  children(name: CgroupName): Promise<string[]> {
    return this.deps.folders.children(name);
  }

  isPopulated(path: string): Promise<boolean> {
    return this.deps.folders.isPopulated(path);
  }

  async destroy(name: CgroupName): Promise<void> {
    const { systemd, folders } = this.deps;
    if (await folders.exists(name)) await this.callSystemd(() => systemd.stopUnit(unitOf(name)));
    await folders.destroy(name);
  }

  async removeIfEmpty(name: CgroupName): Promise<void> {
    const { systemd, folders } = this.deps;
    if (!(await folders.exists(name)) || (await folders.children(name)).length > 0) return;
    if (await folders.isPopulated(cgroupPath(name, 'systemd'))) return;
    await this.callSystemd(() => systemd.stopUnit(unitOf(name)));
    await folders.removeIfEmpty(name);
  }

  private async callSystemd(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.loggedFailure) return;
      this.loggedFailure = true;
      this.deps.logger.warn(
        { err: errorMessage(error) },
        'A call to systemd failed; pod limits last only until systemd reloads',
      );
    }
  }
}

function unitOf(name: CgroupName): string {
  return basename(cgroupPath(name, 'systemd'));
}
