import { expect, test } from 'vitest';
import { Signal } from '../../../src/cri/generated/cri.ts';
import { stopSignalName, stopSignalOf } from '../../../src/engine/container/stop-signal.ts';

test('every signal of the CRI has a name that leads back to it', () => {
  const signals = Object.values(Signal).filter((signal) => signal.startsWith('SIG'));
  const names = signals.map((signal) => stopSignalName(signal) ?? '');
  expect(names.map(stopSignalOf)).toEqual(signals);
  expect(names).toEqual(expect.arrayContaining(['SIGUSR1', 'SIGRTMIN+3', 'SIGRTMAX-14', 'SIGRTMAX']));
});

test('a runtime that reports none uses that of the image', () => {
  expect(stopSignalName('RUNTIME_DEFAULT')).toBeUndefined();
  expect(stopSignalName('UNRECOGNIZED')).toBeUndefined();
});
