import { describe, expect, test } from 'vitest';
import {
  computeInPlaceStart,
  computePodStart,
  type InPlaceFacts,
  type InPlaceStart,
  type EarlierRevision,
  endedBy,
  type ExchangeFacts,
  type PodStart,
  type PodWait,
  type StartFacts,
  waitsForChange,
} from '../../../src/engine/pod-start/compute-pod-start.ts';
import { makePod } from '../../builders/pods.ts';

const pod = makePod({ metadata: { uid: 'web' } });
const other = makePod({ metadata: { uid: 'other' } });

/** A pod that may start at once, with these changes. */
function facts(changes: Partial<StartFacts> = {}): StartFacts {
  return {
    isStopped: false,
    runsAnew: false,
    isRunning: false,
    isDone: false,
    earlier: undefined,
    images: 'unknown',
    uidOwner: undefined,
    classProblem: undefined,
    order: { decision: 'start' },
    areVictimsRunning: false,
    allocation: 'done',
    admission: { admit: true, preempt: [] },
    exchange: [],
    ...changes,
  };
}

const noRoom = { reason: 'OutOfcpu', message: 'no CPU is free', retryOn: 'podEnd' } as const;
const refused = { admission: { admit: false, rejection: noRoom } } as const;
const cycle = { reason: 'StartOrderCycle', message: 'a waits for b, b for a', retryOn: 'anyManifest' } as const;
const owned = {
  reason: 'PodUIDTaken',
  message: 'UID web belongs to a pod of another kubelet-ts; this pod starts when that one is removed',
  retryOn: 'podEnd',
} as const;
const awaits = { unready: ['db'], undeclared: [] };
const unknownClass = { field: 'spec.runtimeClassName', message: 'no class kata', hint: '', isMissing: true } as const;
const waiting = (wait: PodWait): PodStart => ({ do: 'wait', wait });

describe('without an earlier revision', () => {
  test.each<[title: string, Partial<StartFacts>, PodStart]>([
    ['starts if nothing is in its way', {}, { do: 'start' }],
    ['that an operator stopped is kept stopped, even if it runs', { isStopped: true, isRunning: true }, { do: 'stop' }],
    ['that runs is not judged again', { isRunning: true, ...refused }, { do: 'keep' }],
    ['that is done needs no room', { isDone: true, ...refused }, { do: 'start' }],
    ['that must run anew ends first', { runsAnew: true, isRunning: true }, { do: 'endLastRun' }],
    ['that must run anew and has ended starts', { runsAnew: true }, { do: 'start' }],
    ['whose UID has another owner waits for its release', { uidOwner: 'another kubelet-ts' }, waiting(owned)],
    [
      'whose class is not declared waits for manifests',
      { classProblem: unknownClass },
      waiting({ reason: 'UnknownClass', message: 'spec.runtimeClassName: no class kata', retryOn: 'anyManifest' }),
    ],
    [
      'whose field contradicts its class waits for manifests',
      { classProblem: { ...unknownClass, isMissing: false } },
      waiting({ reason: 'ClassConflict', message: 'spec.runtimeClassName: no class kata', retryOn: 'anyManifest' }),
    ],
    [
      'that depends on others waits until they are Ready',
      { order: { decision: 'wait', awaits }, ...refused },
      waiting({ reason: 'WaitingForPods', message: 'Waiting for db to be Ready', awaits, retryOn: 'podReady' }),
    ],
    ['that depends on itself waits for manifests', { order: { decision: 'refuse', rejection: cycle } }, waiting(cycle)],
    ['asks for an allocation before it is judged', { allocation: 'due', ...refused }, { do: 'allocate' }],
    [
      'waits for the answer of device plugins',
      { allocation: 'pending' },
      waiting({
        reason: 'WaitingForDevices',
        message: 'Device plugins are allocating its devices',
        retryOn: 'allocation',
      }),
    ],
    ['that does not fit waits as its rejection says', refused, waiting(noRoom)],
    [
      'that is important has others ended',
      { admission: { admit: true, preempt: [other], missing: ['cpu'] } },
      { do: 'preempt', victims: [other], missing: ['cpu'] },
    ],
  ])('a pod %s', (_title, changes, plan) => {
    expect(computePodStart({ pod }, facts(changes))).toEqual(plan);
  });

  test('a pod waits for the end of others that were ended for it, and is then judged again', () => {
    const wait = { retryOn: 'victims', victims: new Set(['other']) } as const;
    expect(computePodStart({ pod, wait }, facts({ areVictimsRunning: true, ...refused }))).toEqual(waiting(wait));
    expect(computePodStart({ pod, wait }, facts(refused))).toEqual(waiting(noRoom));
  });
});

describe('next to an earlier revision', () => {
  const running: EarlierRevision = { current: other, isEnding: false, isRunning: true, mayBeDeclared: false };
  const stopIt: PodStart = { do: 'stopEarlier', of: [pod] };

  test.each<[title: string, Partial<StartFacts>, PodStart]>([
    ['pulls its images first', { earlier: running }, { do: 'pull', pods: [pod] }],
    ['waits for its images', { earlier: running, images: 'pulling' }, waiting({ retryOn: 'images' })],
    [
      'is not judged while it waits for images',
      { earlier: running, images: 'pulling', ...refused },
      waiting({ retryOn: 'images' }),
    ],
    ['takes over once it has its images', { earlier: running, images: 'pulled' }, stopIt],
    ['that does not fit lets the earlier one run', { earlier: running, images: 'pulled', ...refused }, waiting(noRoom)],
    ['whose UID has another owner lets it run', { earlier: running, uidOwner: 'another kubelet-ts' }, waiting(owned)],
    ['pulls nothing if the earlier one does not run', { earlier: { ...running, isRunning: false } }, stopIt],
    [
      'that does not fit waits also if nothing runs',
      { earlier: { ...running, isRunning: false }, ...refused },
      waiting(noRoom),
    ],
    [
      'waits until the earlier one has ended',
      { earlier: { ...running, isEnding: true } },
      waiting({ retryOn: 'earlierEnd' }),
    ],
    [
      'waits for a source that may still declare it',
      { earlier: { ...running, mayBeDeclared: true }, images: 'pulled' },
      waiting({ retryOn: 'source' }),
    ],
    ['that runs already is not judged', { earlier: running, isRunning: true, images: 'pulled', ...refused }, stopIt],
    [
      'preempts no others while the earlier one runs',
      { earlier: running, images: 'pulled', admission: { admit: true, preempt: [other] } },
      stopIt,
    ],
    ['that an operator stopped ends the earlier one too', { earlier: running, isStopped: true }, { do: 'stop' }],
  ])('a pod %s', (_title, changes, plan) => {
    expect(computePodStart({ pod }, facts(changes))).toEqual(plan);
  });

  describe('and in exchange for host ports of others', () => {
    const one = (changes: Partial<ExchangeFacts> = {}): ExchangeFacts => ({
      ...facts({ images: 'pulled' }),
      pod,
      ...changes,
    });
    const exchange = [one(), one({ pod: other })];
    const blocked = { earlier: running, images: 'pulled', ...refused } as const;

    test.each<[title: string, Partial<StartFacts>, PodStart]>([
      ['starts together with them', { ...blocked, exchange }, { do: 'stopEarlier', of: [pod, other] }],
      [
        'pulls the images of all',
        { ...blocked, exchange: [one(), one({ pod: other, images: 'unknown' })] },
        { do: 'pull', pods: [pod, other] },
      ],
      [
        'waits if another one does not fit',
        { ...blocked, exchange: [one(), one({ pod: other, ...refused })] },
        waiting(noRoom),
      ],
      [
        'waits if another one waits for its UID',
        { ...blocked, exchange: [one(), one({ pod: other, uidOwner: 'another kubelet-ts' })] },
        waiting(noRoom),
      ],
      [
        'waits for its class first',
        { ...blocked, classProblem: unknownClass, exchange },
        waiting({ reason: 'UnknownClass', message: 'spec.runtimeClassName: no class kata', retryOn: 'anyManifest' }),
      ],
    ])('a pod %s', (_title, changes, plan) => {
      expect(computePodStart({ pod }, facts(changes))).toEqual(plan);
    });
  });
});

test('each wait ends on a change, on a new manifest, or is checked by every sync and clean-up', () => {
  const waits: PodWait[] = [
    ...(['podEnd', 'deviceChange', 'manifest', 'anyManifest', 'node'] as const).map((retryOn) => ({
      ...noRoom,
      retryOn,
    })),
    { retryOn: 'podReady', reason: '', message: '', awaits },
    { retryOn: 'allocation', reason: '', message: '' },
    { retryOn: 'victims', victims: new Set() },
    { retryOn: 'images' },
    { retryOn: 'earlierEnd' },
    { retryOn: 'source' },
  ];
  const changes = Object.entries(endedBy);
  const endOf = (wait: PodWait): string => {
    const [change = 'manifest'] = changes.find(([, ended]) => ended.includes(wait.retryOn)) ?? [];
    return waitsForChange(wait) ? change : 'sync';
  };
  expect(Object.fromEntries(waits.map((wait) => [wait.retryOn, endOf(wait)]))).toEqual({
    podEnd: 'room',
    deviceChange: 'room',
    manifest: 'manifest',
    anyManifest: 'order',
    node: 'node',
    podReady: 'order',
    allocation: 'devices',
    victims: 'room',
    images: 'sync',
    earlierEnd: 'sync',
    source: 'sync',
  });
});

const misfit = { reason: 'OutOfcpu', message: 'no CPU is free' };

test.each<[title: string, Partial<InPlaceFacts>, InPlaceStart]>([
  ['begins at once if it fits and has its images', {}, { do: 'start' }],
  ['pulls images first', { images: 'unknown' }, { do: 'pull' }],
  ['waits for its images', { images: 'pulling' }, { do: 'pull' }],
  ['waits for room, and pulls nothing meanwhile', { misfit, images: 'unknown' }, { do: 'wait', update: misfit }],
  ['waits for nothing if the pod does not run', { isRunning: false, misfit, images: 'unknown' }, { do: 'start' }],
])('a change in place %s', (_title, changes, plan) => {
  expect(computeInPlaceStart({ isRunning: true, misfit: undefined, images: 'pulled', ...changes })).toEqual(plan);
});
