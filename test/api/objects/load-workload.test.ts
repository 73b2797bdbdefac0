import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';
import { loadPod } from '../../builders/load-pod.ts';

const nothing = { pods: [], configObjects: [], problems: [] };
const template = 'template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: app:1}]}}';
const jobTemplate = template.replace('spec: {', 'spec: {restartPolicy: Never, ');

/** A workload with lines of its spec. */
function workload(type: string, ...spec: string[]): string {
  const [apiVersion, kind] = type.split(' ');
  const lines = [`apiVersion: ${apiVersion}`, `kind: ${kind}`, 'metadata: {name: web}', 'spec:'];
  return [...lines, ...spec.map((line) => `  ${line}`), ''].join('\n');
}

function cronJob(schedule: string, ...spec: string[]): string {
  return workload('batch/v1 CronJob', `schedule: ${schedule}`, `jobTemplate: {spec: {${jobTemplate}}}`, ...spec);
}

describe('the pod', () => {
  test('is named after the workload and has everything else from the template', () => {
    const text = [
      'apiVersion: apps/v1',
      'kind: Deployment',
      'metadata: {name: web, namespace: shop, labels: {of: deployment}, annotations: {of: deployment}, uid: other}',
      'spec:',
      '  template:',
      '    metadata: {labels: {app: web}, annotations: {a: b}}',
      '    spec: {hostNetwork: true, containers: [{name: main, image: app:1}]}',
    ].join('\n');
    const pod = [
      'apiVersion: v1',
      'kind: Pod',
      'metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {a: b}}',
      'spec: {hostNetwork: true, containers: [{name: main, image: app:1}]}',
    ].join('\n');
    expect(loadManifests(text, loadOptions)).toEqual({
      workloads: [expect.objectContaining({ kind: 'Deployment', name: 'web', replicas: 1 })],
      pods: [loadPod(pod, loadOptions).pod],
      configObjects: [],
      derivedUIDs: [loadPod(pod, loadOptions).pod?.metadata.uid],
      problems: [],
    });
  });

  test.each([
    ['apps/v1 DaemonSet', template],
    ['apps/v1 Deployment', template],
    ['apps/v1 ReplicaSet', template],
    ['v1 ReplicationController', template],
    ['batch/v1 Job', jobTemplate],
  ])('of a %s', (type, spec) => {
    expect(loadedManifests(workload(type, spec))).toEqual({ ...nothing, pods: ['default/web-edge1'] });
  });

  test.each([
    ['0', template],
    ['5', `ordinals: {start: 5}\n  ${template}`],
  ])('of a StatefulSet has its ordinal %s', (ordinal, spec) => {
    const expected = { ...nothing, pods: [`default/web-${ordinal}-edge1`] };
    expect(loadedManifests(workload('apps/v1 StatefulSet', spec))).toEqual(expected);
  });

  test('of a StatefulSet knows its name, its ordinal and its Service as in a cluster', () => {
    const text = workload('apps/v1 StatefulSet', 'serviceName: webs', 'replicas: 2', template);
    const { pods, problems } = loadManifests(text, loadOptions);
    const identities = pods.map(({ metadata: { name, labels }, spec: { hostname, subdomain } }) => ({
      ...{ name, labels, hostname, subdomain },
    }));
    const identity = (ordinal: string): object => ({
      name: `web-${ordinal}-edge1`,
      labels: {
        app: 'web',
        'apps.kubernetes.io/pod-index': ordinal,
        'statefulset.kubernetes.io/pod-name': `web-${ordinal}`,
      },
      hostname: `web-${ordinal}`,
      subdomain: 'webs',
    });
    expect({ identities, problems }).toEqual({ identities: [identity('0'), identity('1')], problems: [] });
  });

  test('of a StatefulSet keeps its UID if it gets a Service', () => {
    const [before, after] = ['minReadySeconds: 0', 'serviceName: web'].map(
      (line) => loadManifests(workload('apps/v1 StatefulSet', line, template), loadOptions).derivedUIDs,
    );
    expect(before).toEqual(after);
  });

  test('of a CronJob runs once', () => {
    expect(loadedManifests(cronJob('"*/5 * * * *"'), { cronJobs: 'runOnce' })).toEqual({
      ...nothing,
      pods: ['default/web-edge1'],
    });
  });

  test('stays the same when only the workload around it changes', () => {
    const uids = ['replicas: 1', 'replicas: 5', 'strategy: {}'].map(
      (line) => loadManifests(workload('apps/v1 Deployment', line, template), loadOptions).pods[0]?.metadata.uid,
    );
    expect(new Set(uids).size).toBe(1);
  });
});

describe('what is lost', () => {
  test.each([
    ['is no strategy', workload('apps/v1 DaemonSet', 'updateStrategy: {type: OnDelete}', template), []],
    [
      'is a note if one node needs it no more than a cluster',
      workload('apps/v1 DaemonSet', 'minReadySeconds: 1', 'revisionHistoryLimit: 3', 'updateStrategy: {}', template),
      ['2:7 note kind A DaemonSet runs on one node here, which needs no revisionHistoryLimit'],
    ],
    [
      'may be in the template',
      workload('apps/v1 DaemonSet', template.replace('{labels', '{name: other, finalizers: [a/b], labels')),
      [
        '2:7 note kind A DaemonSet runs on one node here, which needs no template.metadata.name, template.metadata.finalizers',
      ],
    ],
    ['is not the status', `${workload('apps/v1 Deployment', template)}status: {replicas: 1}\n`, []],
    ['is not one replica', workload('apps/v1 ReplicaSet', 'replicas: 1', template), []],
    ['are no new tries of a Job', workload('batch/v1 Job', 'backoffLimit: 4', jobTemplate), []],
    [
      'is a selector that a cluster would refuse',
      workload('apps/v1 Deployment', 'selector: {matchLabels: {app: api}}', template),
      ['5:3 warning spec.selector The template has no label app=api: a cluster would refuse this'],
    ],
    [
      'is the selector of a ReplicationController',
      workload('v1 ReplicationController', 'selector: {app: api}', template),
      ['5:3 warning spec.selector The template has no label app=api: a cluster would refuse this'],
    ],
    [
      'is what nobody knows',
      workload('apps/v1 Deployment', 'replica: 3', template),
      ['5:3 warning spec.replica Unknown field "replica" is ignored'],
    ],
  ])('%s', (_what, text, problems) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, pods: ['default/web-edge1'], problems });
  });
});

describe('a workload that wants no pod now', () => {
  test.each([
    [
      workload('apps/v1 Deployment', 'replicas: 0', template),
      '5:13 warning spec.replicas replicas is 0: no pod is declared',
    ],
    [
      workload('batch/v1 Job', 'parallelism: 0', jobTemplate),
      '5:16 warning spec.parallelism parallelism is 0: no pod is declared',
    ],
    [
      workload('batch/v1 Job', 'completions: 0', jobTemplate),
      '5:16 warning spec.completions completions is 0: no pod is declared',
    ],
    [
      workload('batch/v1 Job', 'suspend: true', jobTemplate),
      '5:12 warning spec.suspend The Job is suspended: no pod is declared',
    ],
  ])('is good\n%s', (text, problem) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, problems: [problem] });
  });

  test('is good when a CronJob is suspended', () => {
    expect(loadedManifests(cronJob('"@daily"', 'suspend: true'), { cronJobs: 'runOnce' })).toEqual({
      ...nothing,
      problems: ['7:12 warning spec.suspend The CronJob is suspended: no run begins'],
    });
  });

  test('is checked all the same', () => {
    expect(
      loadedManifests(workload('apps/v1 Deployment', 'replicas: 0', template.replace('app:1', '""'))).problems,
    ).toEqual([
      '5:13 warning spec.replicas replicas is 0: no pod is declared',
      '6:86 error spec.template.spec.containers[0].image Required value: must be set',
    ]);
  });
});

describe('a broken workload', () => {
  test.each([
    [
      'has no template',
      workload('apps/v1 Deployment', 'replicas: 1'),
      ['4:1 error spec.template Required value: must be set'],
    ],
    [
      'has no spec',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n',
      ['1:1 error spec.template Required value: must be set'],
    ],
    [
      'has no name',
      workload('apps/v1 Deployment', template).replace('web', '""'),
      ['3:18 error metadata.name A name is needed'],
    ],
    [
      'has a bad name',
      workload('apps/v1 Deployment', template).replace('web', 'We_b'),
      [
        '3:18 error metadata.name Invalid value: "We_b": must consist of lower case letters, digits, "-" and ".", and each part start and end with a letter or digit',
      ],
    ],
    [
      'has a bad label in its template',
      workload('apps/v1 Deployment', template.replace('app: web', 'a b: c')),
      [
        '5:25 error spec.template.metadata.labels Invalid value: "a b": must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit',
      ],
    ],
    [
      'has negative replicas',
      workload('apps/v1 Deployment', 'replicas: -1', template),
      ['5:13 error spec.replicas Invalid value: -1: must not be negative'],
    ],
    [
      'has more replicas than a node can run',
      workload('apps/v1 Deployment', 'replicas: 5000', template),
      ['5:13 error spec.replicas Invalid value: 5000: one node runs at most 1000 replicas'],
    ],
    [
      'has a rollout without any step',
      workload('apps/v1 Deployment', 'strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}', template),
      ['5:59 error spec.strategy.rollingUpdate.maxUnavailable Invalid value: "0%": may not be 0 when maxSurge is 0'],
    ],
    [
      'has a rollout by halves of pods',
      workload('apps/v1 Deployment', 'strategy: {rollingUpdate: {maxSurge: 2.5}}', template),
      [
        '5:40 error spec.strategy.rollingUpdate.maxSurge Expected a whole number or a percentage such as "25%", found the number 2.5',
      ],
    ],
    [
      'has a rollout in words',
      workload('apps/v1 Deployment', 'strategy: {type: Rolling, rollingUpdate: {maxSurge: one}}', template),
      [
        '5:20 error spec.strategy.type Unsupported value: "Rolling": supported values: "RollingUpdate", "Recreate"',
        '5:55 error spec.strategy.rollingUpdate.maxSurge Invalid value: "one": must be a number or a percentage such as 25%',
      ],
    ],
    [
      'has a rollout with too much unavailable',
      workload('apps/v1 Deployment', 'strategy: {rollingUpdate: {maxUnavailable: 101%}}', template),
      ['5:46 error spec.strategy.rollingUpdate.maxUnavailable Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      'recreates its pods one by one',
      workload('apps/v1 Deployment', 'strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}', template),
      ['5:30 error spec.strategy.rollingUpdate Forbidden: may not be set when type is Recreate'],
    ],
    [
      'is late before it is available',
      workload('apps/v1 Deployment', 'minReadySeconds: 60', 'progressDeadlineSeconds: 60', template),
      ['6:28 error spec.progressDeadlineSeconds Invalid value: 60: must be greater than minReadySeconds'],
    ],
    [
      'has an unknown order',
      workload('apps/v1 StatefulSet', 'podManagementPolicy: Ordered', 'minReadySeconds: -1', template),
      [
        '6:20 error spec.minReadySeconds Invalid value: -1: must not be negative',
        '5:24 error spec.podManagementPolicy Unsupported value: "Ordered": supported values: "OrderedReady", "Parallel"',
      ],
    ],
    [
      'has a Service that cannot have a name',
      workload('apps/v1 StatefulSet', 'serviceName: web.shop', template),
      [
        '5:16 error spec.serviceName Invalid value: "web.shop": must consist of lower case letters, digits and "-", and start and end with a letter or digit',
      ],
    ],
    [
      'has replicas in words',
      workload('apps/v1 Deployment', 'replicas: three', template),
      ['5:13 error spec.replicas Expected an integer, found the string "three"'],
    ],
    [
      'has a Deployment end',
      workload('apps/v1 Deployment', jobTemplate),
      ['5:68 error spec.template.spec.restartPolicy Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'has a DaemonSet end at a time',
      workload('apps/v1 DaemonSet', template.replace('spec: {', 'spec: {activeDeadlineSeconds: 5, ')),
      ['5:76 error spec.template.spec.activeDeadlineSeconds Forbidden: pods of this kind may not end'],
    ],
    [
      'has a Job without an end',
      workload('batch/v1 Job', jobTemplate.replace('Never', 'Always')),
      [
        '5:68 error spec.template.spec.restartPolicy Unsupported value: "Always": supported values: "OnFailure", "Never"',
      ],
    ],
    [
      'has a Job that does not say how it ends',
      workload('batch/v1 Job', template),
      ['5:46 error spec.template.spec.restartPolicy Required value: supported values: "OnFailure", "Never"'],
    ],
    [
      'has a Job that ends in no known way',
      workload('batch/v1 Job', jobTemplate.replace('Never', 'Sometimes')),
      [
        '5:68 error spec.template.spec.restartPolicy Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      ],
    ],
    [
      'asks for claims that lack their required fields',
      workload('apps/v1 StatefulSet', 'volumeClaimTemplates: [{metadata: {name: data}}]', template),
      [
        '5:26 error spec.volumeClaimTemplates[0].spec.accessModes Required value: needs at least one access mode',
        '5:26 error spec.volumeClaimTemplates[0].spec.resources[storage] Required value: must be set',
      ],
    ],
  ])('%s', (_what, text, problems) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, problems });
  });

  test('is a CronJob with a bad schedule, even if it runs only once', () => {
    expect(loadedManifests(cronJob('"* * * *"'), { cronJobs: 'runOnce' }).problems).toContain(
      '5:13 error spec.schedule Invalid value: "* * * *": must have 5 fields (minute, hour, day of month, month, day of week), not 4',
    );
    expect(loadedManifests(cronJob('""'), { cronJobs: 'runOnce' }).problems).toContain(
      '5:13 error spec.schedule Required value: must be set',
    );
  });

  test('in a list has the path of its item', () => {
    const item = workload('apps/v1 Deployment', template.replace('app:1', '""')).trimEnd().replaceAll('\n', '\n  ');
    expect(loadedManifests(`apiVersion: v1\nkind: List\nitems:\n- ${item}\n`).problems).toEqual([
      '8:88 error items[0].spec.template.spec.containers[0].image Required value: must be set',
    ]);
  });
});
