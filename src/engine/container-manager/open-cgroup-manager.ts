import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { systemBusSocket } from '../host/system-bus-socket.ts';
import { cgroupFiles } from './cgroup-files.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import { type CgroupMounts, readCgroupMounts } from './cgroup-mounts.ts';
import type { CgroupDriver } from './cgroup-names.ts';
import { CgroupfsManager } from './cgroupfs-manager.ts';

/** Opens the cgroup manager of this machine. Loads the systemd code only if the driver is systemd. */
export async function openCgroupManager(
  driver: CgroupDriver,
  { clock, logger, mounts: known }: { clock: Clock; logger: Logger; mounts?: CgroupMounts },
): Promise<CgroupManager> {
  const mounts = known ?? (await readCgroupMounts());
  const folders = new CgroupfsManager({ mounts, files: cgroupFiles, clock, driver });
  if (driver === 'cgroupfs') return folders;
  const [{ SystemdCgroupManager }, { DBusSystemd }] = await Promise.all([
    import('./systemd-cgroup-manager.ts'),
    import('./dbus-systemd.ts'),
  ]);
  const systemd = new DBusSystemd({ clock, socketPath: systemBusSocket(process.env) });
  return new SystemdCgroupManager({ systemd, folders, cgroupVersion: mounts.version, logger });
}
