import { describe, expect, test } from 'vitest';
import type { ReplicatedWorkload, UpdateStrategy } from '../../../src/api/values/workload.ts';
import { computeReplicas, type Replica } from '../../../src/engine/workloads/compute-replicas.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const now = 1_000_000;

type Options = Partial<Omit<ReplicatedWorkload, 'update'>> & { update?: Partial<UpdateStrategy> };

const makeWorkload = ({ update, ...options }: Options = {}): ReplicatedWorkload => ({
  kind: 'Deployment',
  namespace: 'default',
  name: 'web',
  replicas: 3,
  firstOrdinal: 0,
  minReadySeconds: 0,
  progressDeadlineSeconds: 600,
  isPaused: false,
  template: makeStaticPod('web'),
  claims: [],
  ...options,
  update: { type: 'RollingUpdate', partition: 0, isDescending: false, isOrdered: false, ...update },
});

/** A StatefulSet. */
const ordered = (update: Partial<UpdateStrategy> = {}, options: Options = {}): ReplicatedWorkload =>
  makeWorkload({
    kind: 'StatefulSet',
    ...options,
    update: { maxSurge: 0, maxUnavailable: 1, isDescending: true, isOrdered: true, ...update },
  });

/** A pod that is Ready, by default. */
const replica = (ordinal: number, options: Partial<Replica> = {}): Replica => ({
  ordinal,
  revision: 'declared',
  changedAt: now - 60_000,
  isPinned: false,
  isKnown: true,
  readySince: now - 30_000,
  isStopping: false,
  ...options,
});

const earlier = (ordinal: number, options: Partial<Replica> = {}): Replica =>
  replica(ordinal, { revision: 'earlier', ...options });
/** A pod that is not Ready yet. */
const starting = (ordinal: number): Replica => unready(replica(ordinal));

function unready(pod: Replica): Replica {
  const { readySince, ...rest } = pod;
  expect(readySince).toBeDefined();
  return rest;
}

/** The wanted pods by ordinal; those with `-` keep their earlier revision. */
const wanted = (workload: ReplicatedWorkload, pods: readonly Replica[]): string =>
  computeReplicas(workload, pods, now)
    .wanted.map(({ ordinal, revision }) => `${ordinal}${revision === 'earlier' ? '-' : ''}`)
    .join(' ');

const stopping = (pod: Replica): Replica => unready({ ...pod, isStopping: true });

/** A Deployment that recreates its pods. */
const recreating = (options: Options = {}): ReplicatedWorkload =>
  makeWorkload({ ...options, update: { type: 'Recreate', maxSurge: 0, maxUnavailable: '100%' } });

const threeEarlier = [earlier(0), earlier(1), earlier(2)];
const onHost = makeStaticPod('web', { spec: { hostNetwork: true } });

describe('the pods of a workload', () => {
  test.each<[string, ReplicatedWorkload, Replica[], string]>([
    ['are created at once', makeWorkload(), [], '0 1 2'],
    ['are none with 0 replicas', makeWorkload({ replicas: 0 }), [replica(0)], ''],
    ['are removed when there are fewer replicas', makeWorkload({ replicas: 1 }), [0, 1, 2].map((n) => replica(n)), '0'],
    ['begin with its first ordinal', ordered({ isOrdered: false }, { firstOrdinal: 5 }), [], '5 6 7'],

    ['are created one after the other if they are ordered', ordered(), [], '0'],
    ['wait for a pod that is not Ready yet', ordered(), [replica(0), starting(1)], '0 1'],
    ['continue when it is Ready', ordered(), [replica(0), replica(1)], '0 1 2'],
    ['stay if an earlier one is not Ready', ordered(), [starting(0), replica(1), replica(2)], '0 1 2'],
    ['are removed one after the other', ordered({}, { replicas: 0 }), [replica(0), replica(1), replica(2)], '0 1'],
    [
      'are not removed while another one stops',
      ordered({}, { replicas: 0 }),
      [replica(0), replica(1), unready(replica(2, { isStopping: true }))],
      '0 1',
    ],
  ])('%s', (_what, workload, pods, expected) => {
    expect(wanted(workload, pods)).toBe(expected);
  });
});

describe('an update', () => {
  test.each<[string, ReplicatedWorkload, Replica[], string]>([
    [
      'changes a first pod that never becomes Ready, although the next ones wait for it',
      ordered(),
      [unready(earlier(0))],
      '0',
    ],
    [
      'changes no Ready pod while others are missing, but one that is not Ready',
      ordered(),
      [earlier(0), unready(earlier(1))],
      '0- 1',
    ],
    ['begins with a pod beyond the replicas', makeWorkload(), threeEarlier, '0- 1- 2- 3'],
    ['waits until that one is Ready', makeWorkload(), [...threeEarlier, starting(3)], '0- 1- 2- 3'],
    ['then changes the first pod', makeWorkload(), [...threeEarlier, replica(3)], '0 1- 2- 3'],
    ['goes on when that is Ready', makeWorkload(), [replica(0), earlier(1), earlier(2), replica(3)], '0 1 2- 3'],
    [
      'keeps the extra pod until the last one is Ready',
      makeWorkload(),
      [replica(0), replica(1), starting(2), replica(3)],
      '0 1 2 3',
    ],
    [
      'keeps an extra pod of an abandoned revision until it may change',
      makeWorkload(),
      [starting(0), earlier(1), earlier(2), earlier(3)],
      '0 1- 2- 3-',
    ],
    ['ends without it', makeWorkload(), [replica(0), replica(1), replica(2), replica(3)], '0 1 2'],
    ['needs no extra pod when a pod fails later', makeWorkload(), [replica(0), replica(1), starting(2)], '0 1 2'],

    ['of a single pod is plain if nothing is written', makeWorkload({ replicas: 1 }), [earlier(0)], '0'],
    [
      'of a single pod has an extra one if maxUnavailable is 0',
      makeWorkload({ replicas: 1, update: { maxSurge: 1, maxUnavailable: 0 } }),
      [earlier(0)],
      '0- 1',
    ],
    ['on the host network has none', makeWorkload({ template: onHost }), threeEarlier, '0 1- 2-'],
    [
      'changes as many as may be unavailable',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: 2 } }),
      threeEarlier,
      '0 1 2-',
    ],
    [
      'changes all at once if all may be unavailable',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: '100%' } }),
      threeEarlier,
      '0 1 2',
    ],
    ['that recreates pods first stops all', recreating(), threeEarlier, ''],
    ['waits until the last of them has stopped', recreating(), [stopping(earlier(2))], ''],
    ['then starts them together', recreating(), [], '0 1 2'],
    ['does not wait for a pod of the same revision', recreating(), [replica(0), stopping(replica(3))], '0 1 2'],
    ['stops no pod of the new revision', recreating(), [replica(0), earlier(1)], '0'],
    ['stops no pinned pod', recreating(), [earlier(0, { isPinned: true }), earlier(1), earlier(2)], '0-'],
    [
      'stops none before their sources declare them',
      recreating(),
      [earlier(0), unready(earlier(1, { isKnown: false }))],
      '0- 1-',
    ],
    ['does not begin while the workload is paused', recreating({ isPaused: true }), threeEarlier, '0- 1- 2-'],
    ['replaces a single pod as usual', recreating({ replicas: 1 }), [earlier(0)], '0'],
    ['waits for pods beyond a lower count too', recreating({ replicas: 1 }), [earlier(0), stopping(earlier(1))], ''],
    [
      'stops at a revision that does not become Ready',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: 1 } }),
      [starting(0), earlier(1), earlier(2)],
      '0 1- 2-',
    ],
    [
      'also if another pod fails meanwhile',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: 1 } }),
      [starting(0), unready(earlier(1)), earlier(2)],
      '0 1- 2-',
    ],
    [
      'begins with pods that are not Ready',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: 1 } }),
      [earlier(0), unready(earlier(1)), earlier(2)],
      '0- 1 2-',
    ],
    [
      'waits for pods whose status is unknown',
      makeWorkload({ update: { maxSurge: 0, maxUnavailable: 1 } }),
      threeEarlier.map((pod) => unready({ ...pod, isKnown: false })),
      '0- 1- 2-',
    ],
    [
      'waits for minReadySeconds',
      makeWorkload({ minReadySeconds: 10, update: { maxSurge: 0, maxUnavailable: 1 } }),
      [replica(0, { readySince: now - 5000 }), earlier(1), earlier(2)],
      '0 1- 2-',
    ],
    [
      'leaves pinned pods',
      makeWorkload(),
      [earlier(0, { isPinned: true }), earlier(1), earlier(2), replica(3)],
      '0- 1 2- 3',
    ],
    ['does not begin while it is paused', makeWorkload({ isPaused: true }), threeEarlier, '0- 1- 2-'],
    ['of a StatefulSet begins with the last pod', ordered(), threeEarlier, '0- 1- 2'],
    [
      'of a StatefulSet leaves its partition',
      ordered({ partition: 2 }),
      [...threeEarlier.slice(0, 2), replica(2)],
      '0- 1- 2',
    ],
    ['on delete changes none', ordered({ type: 'OnDelete' }), threeEarlier, '0- 1- 2-'],
    ['creates new pods with the new revision', makeWorkload({ replicas: 4 }), threeEarlier, '0- 1- 2- 3 4'],
  ])('%s', (_what, workload, pods, expected) => {
    expect(wanted(workload, pods)).toBe(expected);
  });
});

describe('the status', () => {
  test('counts the pods and says that all are up to date', () => {
    expect(computeReplicas(makeWorkload({ replicas: 1 }), [replica(0)], now)).toEqual({
      wanted: [{ ordinal: 0, revision: 'declared' }],
      status: {
        kind: 'Deployment',
        namespace: 'default',
        name: 'web',
        desired: 1,
        current: 1,
        ready: 1,
        available: 1,
        updated: 1,
        conditions: [
          {
            type: 'Available',
            status: 'True',
            reason: 'MinimumReplicasAvailable',
            message: 'It has minimum availability',
          },
          { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: 'All pods are up to date' },
        ],
      },
    });
  });

  test('says why pods cannot run', () => {
    const rejection = { reason: 'OutOfcpu', message: 'not enough cpu' };
    const pods = [replica(0), unready(replica(1, { rejection })), unready(replica(2, { rejection }))];
    const ownerOf = (ordinal: number): string | undefined => (ordinal === 3 ? 'a pod of /etc/other' : undefined);
    const { status } = computeReplicas(makeWorkload({ replicas: 4 }), pods, now, ownerOf);
    expect(status.conditions.at(-1)).toEqual({
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'OutOfcpu',
      message: 'web-1, web-2: not enough cpu; web-3: a pod of /etc/other has this name',
    });
  });

  test.each<[string, Options, Replica[], string[], number | undefined]>([
    [
      'is in progress until the deadline',
      {},
      [starting(0), earlier(1), earlier(2)],
      ['False MinimumReplicasUnavailable', 'True ReplicaSetUpdated'],
      now - 60_000 + 600_000,
    ],
    [
      'is late after it',
      { progressDeadlineSeconds: 60 },
      [starting(0), earlier(1), earlier(2)],
      ['False MinimumReplicasUnavailable', 'False ProgressDeadlineExceeded'],
      undefined,
    ],
    [
      'is paused',
      { isPaused: true },
      [replica(0), earlier(1), earlier(2)],
      ['True MinimumReplicasAvailable', 'Unknown DeploymentPaused'],
      undefined,
    ],
    [
      'is complete when the pods after a partition are',
      { update: { partition: 2, maxSurge: 0, maxUnavailable: 1 } },
      [earlier(0), earlier(1), replica(2)],
      ['True MinimumReplicasAvailable', 'True NewReplicaSetAvailable'],
      undefined,
    ],
    [
      'says that pods change when they are restarted',
      { progressDeadlineSeconds: 60, update: { type: 'OnDelete' } },
      [replica(0), earlier(1), earlier(2)],
      ['True MinimumReplicasAvailable', 'Unknown OnDelete'],
      undefined,
    ],
    [
      'changes when a pod has been Ready long enough',
      { replicas: 1, minReadySeconds: 40 },
      [replica(0)],
      ['True MinimumReplicasAvailable', 'True ReplicaSetUpdated'],
      now - 30_000 + 40_000,
    ],
  ])('%s', (_what, options, pods, conditions, nextCheckAt) => {
    const { status, nextCheckAt: at } = computeReplicas(makeWorkload(options), pods, now);
    expect([status.conditions.map((one) => `${one.status} ${one.reason}`), at]).toEqual([conditions, nextCheckAt]);
  });
});
