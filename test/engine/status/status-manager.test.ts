import { expect, test } from 'vitest';
import { StatusManager } from '../../../src/engine/status/status-manager.ts';
import { makePod } from '../../builders/pods.ts';
import { plainRedactor } from '../../fakes/plain-redactor.ts';

test('a pod that is disrupted twice has one condition for it, which shows the last reason and the first time', () => {
  const statusManager = new StatusManager({ emit: () => undefined, redactor: plainRedactor });
  const pod = makePod();
  const ready = { type: 'Ready', status: 'False' };
  statusManager.setPodStatus(pod, { phase: 'Running', conditions: [ready] });
  statusManager.evict(pod, { reason: 'Preempting', message: 'first', now: 0 });
  statusManager.evict(pod, { reason: 'Stopped', message: 'second', now: 60_000 });
  expect(statusManager.get(pod.metadata.uid)).toEqual({
    phase: 'Failed',
    reason: 'Stopped',
    message: 'second',
    conditions: [
      ready,
      {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'second',
        lastTransitionTime: '1970-01-01T00:00:00Z',
      },
    ],
  });
});
