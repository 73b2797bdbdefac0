import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { EventCause, KubeletEvent } from '../../../src/engine/view/events.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';
import { node } from './explained-node.ts';

/** The fixes for a pod that was evicted for this cause. */
function waysOf(cause: EventCause | undefined): string[] {
  const message = 'Container app exceeded its local ephemeral storage limit "10Mi". ';
  const pod = makePod({ status: { phase: 'Failed', reason: 'Evicted', message } });
  const evicted = { type: 'Recorded', at: 0, eventType: 'Warning', reason: 'Evicted', message } as const;
  const events: KubeletEvent[] = [{ ...evicted, ...(cause && { cause }) }];
  return explainPod({ pod, node, worker: { state: 'finished', working: false, pending: false }, events }).fixes;
}

const raise = ['Raise the limit (sizeLimit, or limits of ephemeral-storage), or let the pod write less.'];
const free = [
  'Free what the node lacks: df -h; free -m; kubelet-ts top',
  'Or raise resources.requests of the pod, so that others are evicted first.',
];

describe('the fixes out for an evicted pod fit its limit or the node:', () => {
  test.each([
    ['a limit of its own', 'storageLimit', raise],
    ['a shortage of the node', undefined, free],
  ] as const)('%s', (_what, cause, fixes) => {
    expect(waysOf(cause)).toEqual(fixes);
  });
});

describe('a container that did not start, and does not start again, says why:', () => {
  const explained = (message: string) => {
    const terminated = { exitCode: 128, reason: 'StartError', message, finishedAt: '2026-11-29T12:00:00Z' };
    const pod = makePod({
      spec: { restartPolicy: 'Never', containers: [makeContainer({ name: 'app' })] },
      status: { phase: 'Failed', containerStatuses: [makeAPIContainerStatus({ name: 'app', state: { terminated } })] },
    });
    const { cause, evidence, field, fixes } = explainPod({
      ...{ pod, node, events: [] },
      worker: { state: 'finished', working: false, pending: false },
    });
    return { cause, field, fixes, evidence: evidence.map(({ text }) => text) };
  };
  const runAgain = 'Run it again: kubelet-ts retry web-node1';

  test('the agent was killed meanwhile', () => {
    const message = 'failed to create containerd task: failed to create shim task: context canceled';
    expect(explained(message)).toEqual({
      cause:
        'app did not start: its start was cut off, because kubelet-ts or the runtime was killed; restartPolicy Never does not start it again',
      fixes: [runAgain],
      evidence: [`exited with code 128 (StartError): ${message}`],
    });
  });

  test('its image has no such command', () => {
    const message = 'runc create failed: exec: "nothing": executable file not found in $PATH: unknown';
    expect(explained(message)).toEqual({
      cause: 'app did not start: its image has no command "nothing"; restartPolicy Never does not start it again',
      field: 'spec.containers[0].command',
      fixes: ['Correct command, or leave it out to run the command of the image.', runAgain],
      evidence: [`exited with code 128 (StartError): ${message}`],
    });
  });
});
