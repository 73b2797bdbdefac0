import { expect, test } from 'vitest';
import { EventBus } from '../../../src/engine/view/event-bus.ts';
import { PodManager } from '../../../src/engine/pod-start/pod-manager.ts';
import { PodStarter } from '../../../src/engine/pod-start/pod-starter.ts';
import { StatusManager } from '../../../src/engine/status/status-manager.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { plainRedactor } from '../../fakes/plain-redactor.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { startDeps } from './start-deps.ts';
import { podOf } from './planned-pod.ts';

test('a pod waits for its UID until it is removed', () => {
  const clock = new FakeClock();
  const { emit } = new EventBus({ clock, redactor: plainRedactor, faults: silentFaults() });
  const waits = new Map<string, () => boolean>();
  const foreignPods = {
    holderOf: () => 'another kubelet-ts',
    awaitFreeing: (uid: string, isAwaited: () => boolean) => void waits.set(uid, isAwaited),
  };
  const podManager = new PodManager();
  const started: string[] = [];
  const starter = new PodStarter({
    podManager,
    ...startDeps(({ metadata }) => void started.push(metadata.uid)),
    node: () => {
      throw new Error('room counts only when the UID is free');
    },
    activePods: () => [],
    isRunning: () => false,
    isTerminating: () => false,
    killPod: () => undefined,
    classProblemOf: () => undefined,
    ...{ foreignPods, clock, emit },
    statusManager: new StatusManager({ emit, redactor: plainRedactor }),
    onDue: () => undefined,
  });
  const pod = podOf({ cpu: 1, hostPort: 0, priority: 0, after: [] }, 0);
  const waiting = (): unknown => [...waits].map(([uid, isAwaited]) => [uid, isAwaited()]);
  podManager.setPod(pod);
  starter.start(pod);
  const before = waiting();
  podManager.removePod(pod.metadata.uid);
  expect({ started, before, after: waiting() }).toEqual({
    started: [],
    before: [['p0', true]],
    after: [['p0', false]],
  });
});
