import { expect, test } from 'vitest';
import { isScreenTerminal } from '../../../src/commands/run/can-show-screen.ts';

/** Of a process in group 20 whose terminal belongs to this group. */
const stat = (foregroundGroup: number): string => `20 (a) b) S 10 20 10 34816 ${foregroundGroup} 4194304 0`;

test.each<[string, boolean, string | undefined, number, boolean]>([
  ['a terminal in the foreground', true, 'xterm', 20, true],
  ['a terminal of another group, as after &', true, 'xterm', 10, false],
  ['a terminal that is not the controlling one', true, 'xterm', -1, true],
  ['a terminal that can do lines only', true, 'dumb', 20, false],
  ['a terminal of an unknown kind', true, undefined, 20, false],
  ['no terminal', false, 'xterm', 20, false],
])('%s: is a screen: %s %s %s %s', (_title, isTerminal, term, foregroundGroup, expected) => {
  expect(isScreenTerminal({ isTerminal, term, stat: stat(foregroundGroup) })).toBe(expected);
});
