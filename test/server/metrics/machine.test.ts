import { expect, test } from 'vitest';
import { coresAndSockets } from '../../../src/server/metrics/machine.ts';

const processor = (socket: number, core: number): string =>
  `processor\t: 0\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n`;

test.each([
  ['two sockets of two cores', [processor(0, 0), processor(0, 1), processor(1, 0), processor(1, 1)], 4, 2],
  ['a core of two threads', [processor(0, 0), processor(0, 0)], 1, 1],
  ['ARM, which names no cores', ['processor\t: 0\n', 'processor\t: 1\n'], 8, 1],
])('a machine with %s', (_machine, processors, physicalCores, sockets) => {
  expect(coresAndSockets(processors.join('\n'), 8)).toEqual({ physicalCores, sockets });
});
