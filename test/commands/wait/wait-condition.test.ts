import { describe, expect, test } from 'vitest';
import {
  unreachableBecause,
  isConditionMet,
  parseCondition,
  type WaitCondition,
  waitConditions,
  waitingText,
  wantedText,
} from '../../../src/commands/wait/wait-condition.ts';
import type { PodWorkerState } from '../../../src/engine/view/pod-worker-state.ts';
import type { JobStatus } from '../../../src/engine/view/job-status.ts';
import type { EngineSnapshot, PodSnapshot, WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { makePod } from '../../builders/pods.ts';
import { makeSnapshot } from '../../tui/make-snapshot.ts';

interface Revision extends Pick<PodSnapshot, 'replacedBy' | 'outdatedContainers' | 'waitingUpdate'> {
  uid: string;
  phase?: string;
  isReady?: boolean;
  state?: PodWorkerState;
}

function snapshotOf(...revisions: Revision[]): EngineSnapshot {
  const pods = revisions.map(({ uid, phase = 'Running', isReady = false, state = 'sync', ...more }): PodSnapshot => {
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    const pod = makePod({ metadata: { name: 'web-edge1', uid }, status: { phase, conditions } });
    return { pod, source: 'file', worker: { state, working: false, pending: false }, events: [], ...more };
  });
  return { ...makeSnapshot(), nodeName: 'edge1', pods };
}

const met = (snapshot: EngineSnapshot, name = 'web'): WaitCondition[] =>
  waitConditions.filter((condition) => isConditionMet(name, condition, snapshot));

const ready = { uid: 'new', isReady: true };
const completed: Revision = { uid: 'new', phase: 'Succeeded', state: 'finished' };
const noRoom = { reason: 'OutOfcpu', message: 'no room' };

describe('what a pod is', () => {
  test.each<[string, Revision[], WaitCondition[]]>([
    ['Ready', [ready], ['ready', 'updated']],
    ['not there', [], ['deleted']],
    ['Pending', [{ uid: 'new', phase: 'Pending' }], []],
    ['completed', [completed], ['ready', 'completed', 'updated']],
    ['failed', [{ ...completed, phase: 'Failed' }], ['updated']],
    ['completed, with a change that waits', [{ ...completed, waitingUpdate: noRoom }], []],
    ['completed, and not declared any more', [{ ...completed, state: 'terminated' }], []],
    ['Ready, and not declared any more', [{ ...ready, state: 'terminating' }], []],
    ['Ready, with a change that waits', [{ ...ready, waitingUpdate: noRoom }], []],
    ['Ready by an image of before', [{ ...ready, outdatedContainers: ['main'] }], []],
    [
      'Ready, and to be replaced',
      [
        { ...ready, uid: 'old', replacedBy: 'new' },
        { uid: 'new', phase: 'Pending' },
      ],
      [],
    ],
    ['Ready, while the one before ends', [{ uid: 'old', replacedBy: 'new', state: 'terminating' }, ready], ['ready']],
  ])('%s', (_what, revisions, conditions) => {
    expect(met(snapshotOf(...revisions))).toEqual(conditions);
  });

  test.each(['web', 'web-edge1', 'default/web', 'default/web-edge1'])('whether it is called %s', (name) => {
    expect(met(snapshotOf(ready), name)).toEqual(['ready', 'updated']);
  });
});

test('what it does is why its change waits', () => {
  expect(waitingText('web', snapshotOf({ ...ready, waitingUpdate: noRoom }))).toBe('OutOfcpu');
});

test('what it does is that of the declared revision', () => {
  const snapshot = snapshotOf({ ...ready, uid: 'old', replacedBy: 'new' }, { uid: 'new', phase: 'Pending' });
  expect([waitingText('web', snapshot), waitingText('dns', snapshot)]).toEqual(['Pending', 'not declared']);
});

test.each([
  ['condition=Ready', 'ready'],
  ['condition=ready=true', 'ready'],
  ['condition=Available', 'ready'],
  ['condition=complete', 'completed'],
  ['delete', 'deleted'],
  ['completed', 'completed'],
  ['happy', undefined],
])("kubectl's condition %s is %s", (text, condition) => {
  expect(parseCondition(text)).toBe(condition);
});

test.each([
  ['jsonpath={.status.phase}=Running', true],
  ['jsonpath=.status.phase=Running', true],
  ["jsonpath={.status.conditions[?(@.type=='Ready')].status}=True", true],
  ['jsonpath={.status.phase}=Succeeded', false],
  ['jsonpath={.status.phase}', true],
  ['jsonpath={.status.podIP}', false],
  ['condition=Ready=false', false],
  ['condition=Initialized', false],
])('for a Ready pod, %s is %s', (text, isMet) => {
  const condition = parseCondition(text);
  expect(condition !== undefined && isConditionMet('web', condition, snapshotOf(ready))).toBe(isMet);
  expect(condition !== undefined && wantedText(condition)).toBe(`had ${text}`);
});

test('a field of a pod that will be replaced is not that of its manifest', () => {
  const condition = parseCondition('jsonpath={.status.phase}=Running') ?? 'ready';
  expect(isConditionMet('web', condition, snapshotOf({ ...ready, waitingUpdate: noRoom }))).toBe(false);
});

test.each<[string, Revision, WaitCondition, string | undefined]>([
  ['ends for an update that was rolled back', rolledBackTo('RolledBack'), 'updated', 'late'],
  ['goes on for an update that is held', rolledBackTo('Held'), 'updated', undefined],
  ['goes on until the pod is Ready', rolledBackTo('RolledBack'), 'ready', undefined],
])('the wait %s', (_title, revision, condition, because) => {
  expect(unreachableBecause('web', condition, snapshotOf(revision))).toBe(because);
});

function rolledBackTo(reason: string): Revision {
  return { uid: '1', waitingUpdate: { reason, message: 'late' } };
}

describe('what a workload is', () => {
  const counts = { desired: 3, current: 3, ready: 3, available: 3, updated: 3, conditions: [], pods: [] };
  const noJob = { active: 0, ready: 0, succeeded: 0, failed: 0, terminating: 0, isSuspended: false };
  const withWorkload = (kind: WorkloadSnapshot['kind'], more: Partial<WorkloadSnapshot>): EngineSnapshot => ({
    ...makeSnapshot(),
    workloads: [{ kind, namespace: 'default', name: 'web', ...counts, ...more }],
  });

  test.each<[string, Partial<WorkloadSnapshot>, WaitCondition[], string]>([
    ['updated and available', {}, ['ready', 'updated'], '3 of 3 available'],
    ['not Ready as a whole', { ready: 2, available: 2 }, ['updated'], '2 of 3 available'],
    ['in a rollout', { current: 4, updated: 1 }, [], '3 of 3 available'],
    ['without room', { current: 2, ready: 2, available: 2, updated: 2 }, [], '2 of 3 available'],
    [
      'without pods',
      { desired: 0, current: 0, ready: 0, available: 0, updated: 0 },
      ['ready', 'updated'],
      '0 of 0 available',
    ],
  ])('a Deployment %s', (_what, more, conditions, text) => {
    const snapshot = withWorkload('Deployment', more);
    expect(met(snapshot, 'Deployment/default/web')).toEqual(conditions);
    expect(waitingText('Deployment/default/web', snapshot)).toBe(text);
  });

  test.each<[string, Partial<JobStatus>, WaitCondition[], string, string?]>([
    ['that runs', { active: 2, ready: 1, startTime: 1 }, ['updated'], '0 succeeded, 2 active'],
    ['whose pods are Ready', { active: 2, ready: 2, startTime: 1 }, ['ready', 'updated'], '0 succeeded, 2 active'],
    ['that is complete', { result: 'Complete', startTime: 1 }, ['ready', 'completed', 'updated'], 'Complete'],
    ['that has failed', { result: 'Failed', startTime: 1 }, ['updated'], 'Failed', 'has failed'],
    ['that is suspended', { isSuspended: true }, [], '0 succeeded, 0 active'],
  ])('a Job %s', (_what, more, conditions, text, never) => {
    const snapshot = withWorkload('Job', { job: { ...noJob, ...more } });
    expect(met(snapshot, 'Job/default/web')).toEqual(conditions);
    expect(waitingText('Job/default/web', snapshot)).toBe(text);
    expect(unreachableBecause('Job/default/web', 'completed', snapshot)).toBe(never);
  });

  test("a workload has kubectl's conditions and counts", () => {
    const progressing = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: '' } as const;
    const snapshot = withWorkload('Deployment', { conditions: [progressing] });
    const isMet = (text: string): boolean =>
      isConditionMet('Deployment/default/web', parseCondition(text) ?? 'ready', snapshot);
    expect(isMet('condition=Progressing')).toBe(true);
    expect(isMet('condition=Progressing=False')).toBe(false);
    expect(isMet('jsonpath={.status.readyReplicas}=3')).toBe(true);
  });
});
