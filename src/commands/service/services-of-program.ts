import { basename, join } from 'node:path';
import { listFolder } from '../../files/list-folder.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { programFiles } from '../../node/upgrade/program-files.ts';
import { serviceMark } from '../../process/service-mark.ts';
import { packageFolders } from './refuse-packaged.ts';

/** A service of ours that runs a program. */
export interface ProgramService {
  init: 'systemd' | 'openrc';
  name: string;
  /** True if it runs the guard before each start. */
  isGuarded: boolean;
}

/** Folders with unit files. If two have a file of one name, the first folder wins, as in systemd. */
const folders = { systemd: ['/etc/systemd/system', ...packageFolders], openrc: ['/etc/init.d'] } as const;

/** The services with our mark that run this program. Skips files that cannot be read. */
export async function servicesOfProgram(
  program: string,
  places: Record<ProgramService['init'], readonly string[]> = folders,
): Promise<ProgramService[]> {
  const services = new Map<string, ProgramService>();
  for (const init of ['systemd', 'openrc'] as const) {
    for (const folder of places[init]) {
      for (const file of await listFolder(folder, 'EACCES')) {
        if (init === 'systemd' && !file.endsWith('.service')) continue;
        const text = await readRegularFile(join(folder, file), maxBytes).then(String, () => '');
        // A later folder may have the same unit, which does not count.
        if (!text.includes(serviceMark) || !names(text, program) || services.has(file)) continue;
        const isGuarded = text.includes(programFiles(program).guard);
        services.set(file, { init, name: basename(file, '.service'), isGuarded });
      }
    }
  }
  return [...services.values()];
}

/** True if a text has this path, not only a longer one such as `kubelet-ts.previous`. */
const names = (text: string, path: string): boolean =>
  text.split(path).some((before, index, parts) => {
    const after = parts[index + 1];
    return after !== undefined && !/[\w./-]$/.test(before) && !/^[\w./-]/.test(after);
  });

/** Units are much smaller. */
const maxBytes = 1024 * 1024;
