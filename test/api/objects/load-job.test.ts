import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';

const template = 'template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}';

function job(...spec: string[]): string {
  return [
    'apiVersion: batch/v1',
    'kind: Job',
    'metadata: {name: pi}',
    'spec:',
    ...spec.map((line) => `  ${line}`),
  ].join('\n');
}

function cronJob(...spec: string[]): string {
  const lines = [...spec, `jobTemplate: {spec: {${template}}}`];
  return job(...lines).replace('kind: Job', 'kind: CronJob');
}

const defaults = {
  completions: 1,
  parallelism: 1,
  isIndexed: false,
  backoffLimit: 6,
  podFailurePolicy: [],
  successPolicy: [],
  isSuspended: false,
};

describe('the rules of a Job', () => {
  const rulesOf = (text: string): unknown => {
    const [workload] = loadManifests(text, loadOptions).workloads ?? [];
    return workload && 'rules' in workload ? workload.rules : undefined;
  };

  test.each([
    ['by default', [], defaults],
    ['with completions', ['completions: 3'], { ...defaults, completions: 3 }],
    ['indexed', ['completions: 2', 'completionMode: Indexed'], { ...defaults, completions: 2, isIndexed: true }],
    [
      'with a limit per index',
      ['completions: 2', 'completionMode: Indexed', 'backoffLimitPerIndex: 1'],
      { ...defaults, completions: 2, isIndexed: true, backoffLimit: 2147483647, backoffLimitPerIndex: 1 },
    ],
    [
      'with policies',
      [
        'completions: 9',
        'completionMode: Indexed',
        'successPolicy: {rules: [{succeededIndexes: "0-2,5", succeededCount: 2}]}',
        'podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}',
      ],
      {
        ...defaults,
        completions: 9,
        isIndexed: true,
        successPolicy: [
          {
            indexes: [
              [0, 2],
              [5, 5],
            ],
            count: 2,
          },
        ],
        podFailurePolicy: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
    ],
  ])('%s', (_case, spec, rules) => {
    expect(rulesOf(job(...spec, template))).toEqual(rules);
  });

  test('with only the parallelism: the pods share a queue', () => {
    expect(rulesOf(job('parallelism: 3', template))).toEqual({ ...defaults, completions: undefined, parallelism: 3 });
  });
});

describe('the pods of a Job', () => {
  test.each([
    ['one', [], ['default/pi-edge1']],
    ['three', ['completions: 3'], ['default/pi-edge1', 'default/pi-1-edge1', 'default/pi-2-edge1']],
    ['those that share a queue', ['parallelism: 2'], ['default/pi-edge1', 'default/pi-1-edge1']],
  ])('%s', (_case, spec, pods) => {
    expect(loadedManifests(job(...spec, template))).toEqual({ pods, configObjects: [], problems: [] });
  });

  test('of an indexed Job know their index', () => {
    const [, second] = loadManifests(job('completions: 2', 'completionMode: Indexed', template), loadOptions).pods;
    const key = 'batch.kubernetes.io/job-completion-index';
    expect(second).toMatchObject({
      metadata: {
        labels: { [key]: '1', 'batch.kubernetes.io/job-name': 'pi', 'job-name': 'pi' },
        annotations: { [key]: '1' },
      },
      spec: {
        hostname: 'pi-1',
        containers: [
          {
            env: [
              {
                name: 'JOB_COMPLETION_INDEX',
                valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['${key}']` } },
              },
            ],
          },
        ],
      },
    });
  });

  test('of a CronJob are those of its runs', () => {
    const { pods, workloads } = loadManifests(cronJob('schedule: "@daily"'), loadOptions);
    expect(pods).toEqual([]);
    expect(workloads).toMatchObject([
      { kind: 'CronJob', name: 'pi', schedule: '@daily', concurrencyPolicy: 'Allow', successfulJobsHistoryLimit: 3 },
    ]);
  });
});

describe('a broken Job', () => {
  const indexed = ['completions: 3', 'completionMode: Indexed'];
  test.each([
    [['backoffLimit: -1'], '5:17 error spec.backoffLimit Invalid value: -1: must not be negative'],
    [
      ['parallelism: 5000'],
      '5:16 error spec.parallelism Invalid value: 5000: must be at most 1000: one node runs the pods',
    ],
    [
      ['completionMode: Index'],
      '5:19 error spec.completionMode Unsupported value: "Index": supported values: "NonIndexed", "Indexed"',
    ],
    [
      ['completionMode: Indexed'],
      '4:1 error spec.completions Required value: must be set when completionMode is Indexed',
    ],
    [
      ['backoffLimitPerIndex: 1'],
      '5:25 error spec.backoffLimitPerIndex Invalid value: 1: needs completionMode: Indexed',
    ],
    [
      [...indexed, 'maxFailedIndexes: 1'],
      '4:1 error spec.backoffLimitPerIndex Required value: must be set when maxFailedIndexes is',
    ],
    [
      ['podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [0]}}]}'],
      '5:76 error spec.podFailurePolicy.rules[0].onExitCodes.values Invalid value: 0: must not be 0: the pod has succeeded then',
    ],
    [
      ['podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1]}}]}'],
      '5:39 error spec.podFailurePolicy.rules[0].action Invalid value: "FailIndex": needs backoffLimitPerIndex',
    ],
    [
      ['podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: mian, operator: In, values: [1]}}]}'],
      '5:77 error spec.podFailurePolicy.rules[0].onExitCodes.containerName Not found: "mian"',
    ],
    [
      ['podFailurePolicy: {rules: [{action: FailJob}]}'],
      '5:30 error spec.podFailurePolicy.rules[0] Required value: needs either onExitCodes or onPodConditions',
    ],
    [
      ['successPolicy: {rules: [{succeededCount: 1}]}'],
      '5:3 error spec.successPolicy Forbidden: needs completionMode: Indexed',
    ],
    [
      [...indexed, 'successPolicy: {rules: [{succeededIndexes: "2,1"}]}'],
      '7:46 error spec.successPolicy.rules[0].succeededIndexes Invalid value: "2,1": must be ascending indexes below 3, such as 0-2,5',
    ],
  ])('%j', (spec, problem) => {
    expect(loadedManifests(job(...spec, template)).problems).toEqual([problem]);
  });

  test('has policies without any of the fields that they need', () => {
    const policies = ['podFailurePolicy: {rules: [{onExitCodes: {}}, null]}', 'successPolicy: {}'];
    expect(loadedManifests(job(...indexed, ...policies, template)).problems).toEqual([
      '7:30 error spec.podFailurePolicy.rules[0].action Required value: must be set',
      '7:31 error spec.podFailurePolicy.rules[0].onExitCodes.operator Required value: must be set',
      '7:31 error spec.podFailurePolicy.rules[0].onExitCodes.values Required value: needs at least one exit code',
      '7:49 error spec.podFailurePolicy.rules[1].action Required value: must be set',
      '7:49 error spec.podFailurePolicy.rules[1] Required value: needs either onExitCodes or onPodConditions',
      '8:3 error spec.successPolicy.rules Required value: needs at least one rule',
    ]);
  });

  test.each(['podFailurePolicy: {}', 'podFailurePolicy: null', 'successPolicy: null'])('is none with %s', (line) => {
    expect(loadedManifests(job(...indexed, line, template)).problems).toEqual([]);
  });
});

describe('a broken CronJob', () => {
  test.each([
    [
      'timeZone: Mars/Olympus',
      '6:13 error spec.timeZone Invalid value: "Mars/Olympus": unknown time zone',
      'Write one such as Europe/Berlin or Etc/UTC, or leave it out for that of this machine.',
    ],
    [
      'concurrencyPolicy: Forbidden',
      '6:22 error spec.concurrencyPolicy Unsupported value: "Forbidden": supported values: "Allow", "Forbid", "Replace"',
      undefined,
    ],
    [
      'startingDeadlineSeconds: -5',
      '6:28 error spec.startingDeadlineSeconds Invalid value: -5: must not be negative',
      undefined,
    ],
  ])('%s', (line, problem, hint) => {
    const text = cronJob('schedule: "@daily"', line);
    expect(loadedManifests(text).problems).toEqual([problem]);
    expect(loadManifests(text, loadOptions).problems.map((one) => one.hint)).toEqual([hint]);
  });

  test.each([
    ['', 'Remove TZ=Asia/Tokyo here, and write timeZone: Asia/Tokyo.'],
    ['timeZone: Europe/Berlin', 'Remove TZ=Asia/Tokyo here: timeZone says it.'],
  ])('names a time zone in its schedule: %s', (line, hint) => {
    const text = cronJob('schedule: "CRON_TZ=Asia/Tokyo 0 0 * * *"', ...(line === '' ? [] : [line]));
    const [problem, ...others] = loadManifests(text, loadOptions).problems;
    expect([problem?.line, problem?.field, problem?.message, problem?.hint, others]).toEqual([
      5,
      'spec.schedule',
      'Invalid value: "CRON_TZ=Asia/Tokyo 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      hint,
      [],
    ]);
  });

  test('has too long a name for its Jobs', () => {
    const text = cronJob('schedule: "@daily"').replace('name: pi', `name: ${'p'.repeat(53)}`);
    expect(loadedManifests(text).problems).toEqual([
      `3:18 error metadata.name Invalid value: "${'p'.repeat(53)}": must be no more than 52 characters: Jobs get a longer name`,
    ]);
  });

  test('never runs', () => {
    expect(loadedManifests(cronJob('schedule: "0 0 30 2 *"')).problems).toEqual([
      '5:13 warning spec.schedule No day has this date: it never runs',
    ]);
  });
});
