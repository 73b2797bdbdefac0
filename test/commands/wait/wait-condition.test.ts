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
import type { EngineSnapshot, PodSnapshot } from '../../../src/engine/view/snapshot.ts';
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
