import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { interruptSignal } from '../../../src/node/run-once/interrupt-signal.ts';

const listeners = () => ({ SIGINT: process.listeners('SIGINT'), SIGTERM: process.listeners('SIGTERM') });

test.each(['SIGINT', 'SIGTERM'] as const)('a %s interrupts the run. Then no signal is caught', async (signal) => {
  const before = listeners();
  const interrupted = interruptSignal();
  const [onSignal] = listeners()[signal].filter((listener) => !before[signal].includes(listener));
  expect(interrupted.aborted).toBe(false);
  // Called and not emitted, because the tests listen too.
  onSignal?.(signal);
  expect(interrupted.reason).toEqual(new UserError('interrupted before the pods ran', { exitCode: 130 }));
  await nextTurn();
  expect(listeners()).toEqual(before);
});
