import { expect, test } from 'vitest';
import { EventBus } from '../../../src/engine/view/event-bus.ts';
import { PodAdmission } from '../../../src/engine/lifecycle/pod-admission.ts';
import { StatusManager } from '../../../src/engine/status/status-manager.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { plainOutgoing } from '../../fakes/plain-outgoing.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { podOf } from './planned-pod.ts';

test('a pod waits for its UID until it is removed', () => {
  const clock = new FakeClock();
  const { emit } = new EventBus({ clock, outgoing: plainOutgoing, faults: silentFaults() });
  const waits = new Map<string, () => boolean>();
  const foreignPods = {
    holderOf: () => 'another kubelet-ts',
    awaitFreeing: (uid: string, isAwaited: () => boolean) => void waits.set(uid, isAwaited),
  };
  const admission = new PodAdmission({
    node: () => {
      throw new Error('room counts only when the UID is free');
    },
    declaredPods: () => [],
    activePods: () => [],
    isRunning: () => false,
    isTerminating: () => false,
    killPod: () => undefined,
    classProblemOf: () => undefined,
    ...{ foreignPods, clock, emit },
    statusManager: new StatusManager({ emit, outgoing: plainOutgoing }),
    onDue: () => undefined,
  });
  const pod = podOf({ cpu: 1, hostPort: 0, priority: 0, after: [] }, 0);
  const waiting = (): unknown => [...waits].map(([uid, isAwaited]) => [uid, isAwaited()]);
  const isAdmitted = admission.admit(pod);
  const before = waiting();
  admission.withdraw(pod.metadata.uid);
  expect({ isAdmitted, before, after: waiting() }).toEqual({
    isAdmitted: false,
    before: [['p0', true]],
    after: [['p0', false]],
  });
});
