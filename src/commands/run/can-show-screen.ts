import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isatty } from 'node:tty';

interface Environment {
  /** True if stdin and stdout are both terminals. */
  isTerminal: boolean;
  term: string | undefined;
  /** Content of `/proc/self/stat`. */
  stat: string;
}

/** True if a screen can be shown: a capable terminal with this process in its foreground. */
export async function canShowScreen(): Promise<boolean> {
  return isScreenTerminal({
    // Does not open the terminal, because a background process is stopped when it reads from it.
    isTerminal: isatty(0) && isatty(1),
    term: process.env['TERM'],
    stat: await readFile('/proc/self/stat', 'utf8'),
  });
}

/** True if this process is in the foreground of its terminal, or if there is no controlling terminal. */
export function isInForeground(): boolean {
  return !isInBackground(readFileSync('/proc/self/stat', 'utf8'));
}

/** The decision of `canShowScreen`. */
export function isScreenTerminal({ isTerminal, term = '', stat }: Environment): boolean {
  return isTerminal && term !== '' && term !== 'dumb' && !isInBackground(stat);
}

/**
 * True after `&` or `bg` in a shell, where the kernel stops a process that draws or reads. A terminal that is not the
 * controlling one has no foreground group (-1) and stops no process. proc(5)
 */
function isInBackground(stat: string): boolean {
  const [, , group, , , foregroundGroup = '-1'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return foregroundGroup !== '-1' && foregroundGroup !== group;
}
