import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PodStatus } from '../../../../src/api/types.ts';
import { declaredOrdinals, replicaPod } from '../../../../src/api/values/replica-pod.ts';
import type { DeclaredWorkload, ReplicatedWorkload } from '../../../../src/api/values/workload.ts';
import { podUIDHash } from '../../../../src/engine/config/load-manifest.ts';
import { computeReplicas } from '../../../../src/engine/workloads/compute-replicas.ts';
import { decideJobs } from '../../../../src/engine/workloads/decide-jobs.ts';
import { effectiveWorkload, withoutEnded } from '../../../../src/engine/workloads/effective-workload.ts';
import { newJobRecord } from '../../../../src/engine/workloads/records/job-record.ts';
import { parseWorkloadRecord, type WorkloadRecord } from '../../../../src/engine/workloads/records/workload-record.ts';
import { revisionName } from '../../../../src/engine/operations/pod-record.ts';
import { cronRun } from '../../../../src/api/values/job-pod.ts';
import { makeStaticPod } from '../../../builders/static-pod.ts';
import { propertyRuns, propertyTimeoutMs } from '../../../support/property-runs.ts';
import { makeCron } from '../cron-world.ts';
import { makeJob } from '../job-world.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const job = makeJob({ completions: 5, parallelism: 2, isIndexed: true, backoffLimitPerIndex: 2, maxFailedIndexes: 3 });
const cron = makeCron();
const deployment: ReplicatedWorkload = {
  kind: 'Deployment',
  namespace: 'default',
  name: 'web',
  replicas: 3,
  firstOrdinal: 0,
  minReadySeconds: 0,
  progressDeadlineSeconds: 600,
  isPaused: false,
  update: { type: 'RollingUpdate', partition: 0, isDescending: false, isOrdered: false },
  template: makeStaticPod('web'),
  claims: [],
};

/** Records with everything that they may have, and the workloads that they are of. */
const known: [DeclaredWorkload, WorkloadRecord][] = [
  [
    job,
    {
      ...{ version: 1, kind: 'Job', namespace: 'default', name: 'pi' },
      job: {
        ...newJobRecord(job),
        startedAt: now - 60_000,
        suspendedAt: now - 90_000,
        succeeded: [[0, 0]],
        failedIndexes: [[3, 3]],
        failed: 2,
        failuresInRow: 1,
        lastFailedAt: now - 5000,
        slots: {
          1: { attempt: 1, state: 'active', failures: 1, lastFailedAt: now - 5000, isRetried: true },
          3: { attempt: 0, state: 'failed', failures: 1 },
        },
        stopping: ['uid'],
        outcome: { result: 'Failed', reason: 'FailedIndexes', message: 'Job has failed indexes', decidedAt: now },
        finishedAt: now,
      },
    },
  ],
  [
    cron,
    {
      ...{ version: 1, kind: 'CronJob', namespace: 'default', name: 'dump' },
      runsAt: [now],
      cron: {
        schedule: '*/10 * * * * Etc/UTC',
        handled: [
          [now - 900_000, now - 800_000],
          [now - 700_000, now - 650_000],
        ],
        missed: { at: now - 800_000, because: 'Active' },
        lastScheduleTime: now - 700_000,
        lastSuccessfulTime: now - 600_000,
        runs: [
          {
            scheduledAt: now - 700_000,
            isManual: true,
            job: cronRun(
              {
                ...cron,
                rules: {
                  ...cron.rules,
                  podFailurePolicy: [{ action: 'Count', onExitCodes: { operator: 'In', values: [1] } }],
                  successPolicy: [{ indexes: [[0, 0]], count: 1 }],
                },
              },
              now - 700_000,
              podUIDHash,
            ),
            record: newJobRecord(job),
          },
        ],
      },
    },
  ],
  [
    deployment,
    {
      ...{ version: 1, kind: 'Deployment', namespace: 'default', name: 'web' },
      scale: { replicas: 2, whileDeclared: 3 },
      undo: { template: makeStaticPod('web'), whileDeclared: revisionName(deployment.template) },
      isPaused: true,
      restartedAt: '2026-11-29T12:00:00Z',
      undeclared: { since: now, uid: 'uid' },
    },
  ],
];

type Path = readonly string[];

/** The paths of all values in a value. */
const pathsOf = (value: unknown, path: Path = []): Path[] => [
  path,
  ...Object.entries(Object(value) as object).flatMap(([key, one]) =>
    typeof value === 'object' ? pathsOf(one, [...path, key]) : [],
  ),
];

function withValue(value: unknown, [key, ...rest]: Path, put: unknown): unknown {
  if (key === undefined) return put;
  if (typeof value !== 'object' || value === null) return value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  copy[key] = withValue(copy[key], rest, put);
  return copy;
}

const nested = (depth: number): unknown => JSON.parse('[{"a":'.repeat(depth) + '1' + '}]'.repeat(depth));
/** Values that no release writes, most of them at any place. */
const absurdities: readonly unknown[] = [
  ...[1e300, -1e300, 1e15, 1e9, 2 ** 53, 8.64e15, -8.64e15, -1, 0.5, 0, 'NaN', '', null, true, false, [], {}],
  ...[[null], [[0, 1e9]], [[5, 1]], [[0, 1e300]], [[0, 99_999]], [['0', '1']], ['a'], { NaN: null }],
  ...[{ 1e9: { attempt: 0, state: 'active', failures: 0 } }, { '-1': { attempt: 0, state: 'failed', failures: 0 } }],
  Object.fromEntries(Array.from({ length: 5000 }, (_, slot) => [slot, { attempt: 0, state: 'active', failures: 0 }])),
  Array.from({ length: 50_000 }, (_, index) => [2 * index, 2 * index]),
  ...[nested(500), 'x'.repeat(100_000)],
];
const absurd = fc.oneof(
  fc.nat(absurdities.length - 1).map((index) => ({ index })),
  fc.jsonValue().map((value) => ({ value })),
);

/** Decides about a workload by its record, with pods in each of the states. */
function decide(workload: DeclaredWorkload, record: WorkloadRecord): void {
  const time = { now, since: (stamp: number) => Math.max(0, now - stamp) };
  if (workload.kind === 'Job' || workload.kind === 'CronJob') {
    const statuses: (PodStatus | undefined)[] = [undefined, {}, { phase: 'Succeeded' }, { phase: 'Failed' }];
    for (const status of statuses) {
      const none = { earlier: undefined, ownerOf: () => undefined, podOf: () => undefined };
      decideJobs(workload, { record, ...none, statusOf: () => status, time });
    }
    return;
  }
  const effective = effectiveWorkload(workload, withoutEnded(workload, record));
  for (const ordinal of declaredOrdinals(effective)) replicaPod(effective, ordinal, podUIDHash);
  computeReplicas(effective, [], now);
}

test(
  'a record with absurd values is refused, or decides quickly',
  () => {
    let slowestMs = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...known),
        fc.array(fc.tuple(fc.nat(), absurd), { minLength: 1, maxLength: 3 }),
        ([workload, whole], changes) => {
          const paths = pathsOf(whole);
          const content = changes.reduce<unknown>(
            (value, [which, put]) =>
              withValue(value, paths[which % paths.length] ?? [], 'index' in put ? absurdities[put.index] : put.value),
            whole,
          );
          const startedAt = performance.now();
          const record = parseWorkloadRecord(Buffer.from(JSON.stringify(content)));
          if (record !== undefined) decide(workload, record);
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
        },
      ),
      propertyRuns(3000),
    );
    expect(slowestMs).toBeLessThan(2000);
  },
  propertyTimeoutMs,
);

test.each(known)('a whole record is read as it was written: row %#', (workload, record) => {
  expect(parseWorkloadRecord(Buffer.from(JSON.stringify(record)))).toEqual(record);
  decide(workload, record);
});

test.each<[path: string, value: unknown]>([
  ['job.succeeded', [[0, 1e9]]],
  ['job.failedIndexes', [[0, 'x']]],
  ['job.slots', { 1e9: { attempt: 0, state: 'active', failures: 0 } }],
  ['job.slots.1.attempt', 1e300],
  ['job.startedAt', 8.64e15],
  ['job.stopping', [7]],
  ['job.outcome.result', 'Maybe'],
  ['cron.handled', [[1e300, 1]]],
  ['cron.runs.0.job.rules.parallelism', 1e9],
  ['cron.runs.0.job.template.spec.containers', [null]],
  ['scale.replicas', 1e9],
  ['undo.template.spec.nodeName', 7],
  ['undeclared.since', '2026-11-29T12:00:00Z'],
])('a record with another %s than a release writes is none', (path, value) => {
  const keys = path.split('.');
  const [, whole] = known.find(([, record]) => Object.keys(record).includes(keys[0] ?? '')) ?? [];
  expect(parseWorkloadRecord(Buffer.from(JSON.stringify(withValue(whole, keys, value))))).toBeUndefined();
});
