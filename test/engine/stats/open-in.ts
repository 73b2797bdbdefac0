import { readdirSync, readlinkSync } from 'node:fs';

/** The files of a folder that this process has open. */
export function openIn(folder: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(`${folder}/`)).sort();
}
