import { describe, expect, test } from 'vitest';
import {
  computeRevision,
  lateRollback,
  type RevisionChoice,
  rollbackTarget,
  type UpdateGates,
} from '../../../src/engine/operations/compute-revision.ts';
import type { Pin, PodRecord, PodRevision } from '../../../src/engine/operations/pod-record.ts';
import { makePod } from '../../builders/pods.ts';

/** A revision whose name is its number in letters. */
const revision = (number: number, wasReady = true): PodRevision => ({
  number,
  name: `r${number}`,
  takenAt: number,
  from: '/manifests',
  isDerivedUID: true,
  wasReady,
  pod: makePod(),
});
const record = (more: Partial<PodRecord> = {}): PodRecord => ({
  version: 1,
  namespace: 'default',
  name: 'web',
  current: 2,
  revisions: [revision(1), revision(2)],
  ...more,
});
const held: Pin = { to: 1, because: 'held' };
const rolledBack: Pin = { to: 1, whileDeclared: 'r2', because: 'rolled back' };

type Shown = 'declared' | { reason: string; number: number; message: string };
function shown(choice: RevisionChoice): Shown {
  if (choice.kind === 'declared') return 'declared';
  const { reason, revision: kept, message } = choice;
  return { reason, number: kept.number, message };
}

describe('the revision to run', () => {
  const onDelete: UpdateGates = { rollOut: { reason: 'OnDelete', message: 'StatefulSet db updates it later' } };
  const lock: UpdateGates = { lock: '/run/lock' };
  const window: UpdateGates = { closedWindow: '02:00-04:00' };
  test.each<[string, PodRecord | undefined, string, UpdateGates, Shown]>([
    ['of a new pod is the declared one', undefined, 'r1', { ...lock, ...window }, 'declared'],
    ['of an unchanged manifest is the declared one', record(), 'r2', { ...lock, ...window }, 'declared'],
    ['of a changed manifest is the declared one', record(), 'r3', {}, 'declared'],
    ['waits for a lock file', record(), 'r3', lock, lockedBy(2)],
    ['waits for a lock file before a window', record(), 'r3', { ...lock, ...window }, lockedBy(2)],
    [
      'waits for its window',
      record(),
      'r3',
      window,
      { reason: 'UpdateWindow', number: 2, message: 'updates wait for 02:00-04:00' },
    ],
    [
      'waits for a restart',
      record({ accepts: 'r2' }),
      'r3',
      { ...onDelete, ...lock },
      { reason: 'OnDelete', number: 2, message: 'StatefulSet db updates it later' },
    ],
    ['is the declared one after a restart', record({ accepts: 'r3' }), 'r3', onDelete, 'declared'],
    ['does not wait if none has run', record({ current: 0, revisions: [] }), 'r1', lock, 'declared'],
    ['is the held one', record({ pin: held }), 'r3', {}, { reason: 'Held', number: 1, message: 'held' }],
    ['is the declared one if that is held', record({ pin: held }), 'r1', lock, 'declared'],
    [
      'is the one that was rolled back to',
      record({ current: 1, pin: rolledBack }),
      'r2',
      {},
      { reason: 'RolledBack', number: 1, message: 'rolled back' },
    ],
    ['follows a manifest that changed after a rollback', record({ current: 1, pin: rolledBack }), 'r3', {}, 'declared'],
    ['waits for a lock file after a rollback too', record({ current: 1, pin: rolledBack }), 'r3', lock, lockedBy(1)],
    ['ignores a pin to a revision that is not kept', record({ pin: { ...held, to: 9 } }), 'r3', {}, 'declared'],
  ])('%s', (_title, known, declared, gates, choice) => {
    expect(shown(computeRevision(known, declared, gates))).toEqual(choice);
  });

  function lockedBy(number: number): Shown {
    return { reason: 'UpdateLock', number, message: 'updates wait while /run/lock exists' };
  }
});

test.each<[string, PodRecord, number | undefined, number | undefined]>([
  [
    'the last other one that was Ready',
    record({ revisions: [revision(1), revision(3, false)], current: 3 }),
    undefined,
    1,
  ],
  ['a later one too', record({ current: 1 }), undefined, 2],
  ['the last other one if none was Ready', record({ revisions: [revision(1, false), revision(2)] }), undefined, 1],
  ['nothing without another one', record({ revisions: [revision(2)] }), undefined, undefined],
  ['the one that is named', record(), 2, 2],
  ['nothing for a number that is not kept', record(), 7, undefined],
])('a rollback leads to %s', (_title, known, to, number) => {
  expect(rollbackTarget(known, to)?.number).toBe(number);
});

const late = { revisions: [revision(1), revision(2, false)] };
test.each<[string, Partial<PodRecord>, number | undefined, number, number | undefined]>([
  ['is rolled back', late, 1000, 1000, 1],
  ['is not, in time', late, 1000, 999, undefined],
  ['is not, without a deadline', late, undefined, 9000, undefined],
  ['is not, once it was Ready', {}, 1000, 9000, undefined],
  ['is not, if no other one was Ready', { revisions: [revision(1, false), revision(2, false)] }, 1000, 9000, undefined],
  ['is not, while it is stopped', { ...late, isStopped: true }, 1000, 9000, undefined],
  ['is not, while it is held', { ...late, pin: { to: 2, because: 'held' } }, 1000, 9000, undefined],
])('a late revision %s', (_title, more, deadlineMs, ageMs, number) => {
  expect(lateRollback(record(more), deadlineMs, ageMs)?.number).toBe(number);
});
