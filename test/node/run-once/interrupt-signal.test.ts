import { expect, onTestFinished, test, vi } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { interruptSignal } from '../../../src/node/run-once/interrupt-signal.ts';

const listeners = () => ({ SIGINT: process.listeners('SIGINT'), SIGTERM: process.listeners('SIGTERM') });

test.each([
  ['SIGINT', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
] as const)('a %s interrupts the run, and a %s at any time after it ends the process', (first, second) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  onTestFinished(() => {
    kill.mockRestore();
  });
  const before = listeners();
  const interrupted = interruptSignal();
  const [onSignal] = listeners()[first].filter((listener) => !before[first].includes(listener));
  expect(interrupted.aborted).toBe(false);
  // Called and not emitted, because the tests listen too.
  onSignal?.(first);
  expect(interrupted.reason).toEqual(new UserError('interrupted before the pods ran', { exitCode: 130 }));
  expect(kill.mock.calls).toEqual([]);
  onSignal?.(second);
  expect([kill.mock.calls, listeners()]).toEqual([[[process.pid, second]], before]);
});
