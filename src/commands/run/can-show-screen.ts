import { readFile } from 'node:fs/promises';
import { isatty } from 'node:tty';

interface Surroundings {
  /** True for stdin and stdout alike. */
  isTerminal: boolean;
  term: string | undefined;
  /** `/proc/self/stat`. */
  stat: string;
}

/** True where a screen can be drawn and read from: a terminal that can do more than lines, and that is ours now. */
export async function canShowScreen(): Promise<boolean> {
  return isScreen({
    // Asked without opening them: a process in the background that reads from its terminal is stopped.
    isTerminal: isatty(0) && isatty(1),
    term: process.env['TERM'],
    stat: await readFile('/proc/self/stat', 'utf8'),
  });
}

/** The decision of `canShowScreen`. */
export function isScreen({ isTerminal, term = '', stat }: Surroundings): boolean {
  return isTerminal && term !== '' && term !== 'dumb' && !isInBackground(stat);
}

/**
 * True after `&` or `bg` in a shell: the kernel stops a process that draws or reads there. A terminal that is not the controlling one
 * has no foreground (-1), and stops nobody. proc(5)
 */
function isInBackground(stat: string): boolean {
  const [, , group, , , foregroundGroup = '-1'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return foregroundGroup !== '-1' && foregroundGroup !== group;
}
