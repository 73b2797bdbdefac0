import { join } from 'node:path';
import { UserError } from '../../errors.ts';
import { pathExists } from '../../files/path-exists.ts';

/** Folders for the units of packages. */
export const packageFolders: readonly string[] = ['/usr/lib/systemd/system', '/lib/systemd/system'];

/** Rejects with a `UserError` if a package has installed this unit of systemd, such as `kubelet-ts.service`. */
export async function refusePackaged(unit: string, folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const path = join(folder, unit);
    if (!(await pathExists(path))) continue;
    throw new UserError(`${path} belongs to a package, so uninstall-service does not remove it`, {
      hint:
        `On Debian, dpkg -S ${unit} names the package, and apt remove PACKAGE removes it. ` +
        `To only stop the service: systemctl disable --now ${unit}`,
    });
  }
}
