import { expect, test } from 'vitest';
import {
  DeviceAdmission,
  type PluginAllocation,
} from '../../../../src/engine/container-manager/device-manager/device-admission.ts';
import { makePod } from '../../../builders/pods.ts';

const pod = (uid: string) => makePod({ metadata: { uid } });

test('a pod that was refused for the devices of one that waits for its turn is asked for again', async () => {
  const answers: ((allocation: PluginAllocation) => void)[] = [];
  const freed: (readonly string[])[] = [];
  let done: () => void = () => undefined;
  const admission = new DeviceAdmission({
    allocate: () => new Promise((resolve) => answers.push(resolve)),
    isAligning: () => true,
    // After a restart of the agent it has them from the checkpoint.
    holdersFor: ({ metadata }) => (metadata.uid === 'first' ? ['holder'] : []),
    release: () => undefined,
    onFreed: (uids) => freed.push(uids),
    onAllocated: () => {
      done();
    },
  });
  const refuse = async (): Promise<void> => {
    const ended = new Promise<void>((resolve) => (done = resolve));
    answers.shift()?.({ result: { admit: false, reason: 'None', message: 'none is free' }, refusedMeanwhile: [] });
    await ended;
  };
  admission.admit(pod('first'));
  admission.admit(pod('holder'));
  await Promise.resolve();
  await refuse();
  // The turn of the other one begins.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  await refuse();
  expect(freed).toEqual([['first']]);
});
