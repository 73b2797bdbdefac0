import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import type { ManifestProblem } from '../../../src/api/text/manifest-problem.ts';
import type { Service } from '../../../src/api/values/service.ts';
import { printedObjects, listText } from '../../../src/commands/validate/printed-objects.ts';
import { inFileOrder, validationJSON, validationSummary } from '../../../src/commands/validate/validation-report.ts';
import type { SourceUpdate } from '../../../src/engine/config/pod-source.ts';
import { makeConfigMap, makeSecret } from '../../builders/config-objects.ts';
import { loadOptions } from '../../builders/loaded-manifests.ts';
import { makePriorityClass, makeRuntimeClass } from '../../builders/node-classes.ts';
import { makePod } from '../../builders/pods.ts';
import { headless, makeService } from '../../builders/services.ts';

const warning: ManifestProblem = { origin: 'a.yaml', line: 3, column: 1, message: 'odd', severity: 'warning' };
const update: SourceUpdate = {
  source: 'file',
  where: 'pods',
  pods: [makePod()],
  configObjects: [
    makeConfigMap('web', { 'a.conf': 'listen 80' }, { binaryData: new Map([['a.bin', Buffer.of(0, 1)]]) }),
    makeSecret('login', { password: 'hunter2' }, { immutable: true }),
  ],
  problems: [warning],
};

test('the report for a program has everything but the values', () => {
  expect(validationJSON(update)).toEqual({
    errors: 0,
    warnings: 1,
    notes: 0,
    problems: [warning],
    pods: [{ namespace: 'default', name: 'web-node1', uid: '11111111-2222-3333-4444-555555555555' }],
    configMaps: [{ namespace: 'default', name: 'web', keys: { 'a.conf': 9, 'a.bin': 2 } }],
    secrets: [{ namespace: 'default', name: 'login', keys: { password: 7 } }],
    runtimeClasses: [],
    priorityClasses: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    csiDrivers: [],
    services: [],
    cronJobs: [],
  });
});

test('the summary counts what is declared and what is wrong', () => {
  expect(validationSummary(update)).toBe('1 pod, 1 ConfigMap, 1 Secret: 0 errors, 1 warning');
  expect(validationSummary({ ...update, pods: [], configObjects: [], problems: [] })).toBe(
    '0 pods: 0 errors, 0 warnings',
  );
});

test('a CronJob is counted, although it has no pod before a run', () => {
  const text = [
    'apiVersion: batch/v1',
    'kind: CronJob',
    'metadata: {name: dump}',
    'spec:',
    '  schedule: "@daily"',
    '  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}}}',
  ];
  const declared = { source: 'file', where: 'dump.yaml', ...loadManifests(text.join('\n'), loadOptions) } as const;
  expect(validationSummary(declared)).toBe('0 pods, 1 CronJob: 0 errors, 0 warnings');
  expect(validationJSON(declared)).toMatchObject({ pods: [], cronJobs: ['default/dump'] });
});

test('problems are in the order of files and lines', () => {
  const at = (origin: string, line?: number, column?: number): ManifestProblem => ({
    origin,
    message: 'odd',
    severity: 'error',
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  });
  const problems = [at('b', 9, 1), at('a', 2, 2), at('b', 2, 8), at('b', 2, 3), at('a')];
  expect(inFileOrder(problems)).toEqual([at('b', 2, 3), at('b', 2, 8), at('b', 9, 1), at('a'), at('a', 2, 2)]);
});

test('objects are shown as they would be held, without the values of Secrets', async () => {
  const text = await listText(printedObjects(update), 'text');
  expect(text.split('---\n').slice(0, 2)).toEqual([
    [
      'apiVersion: v1',
      'binaryData:',
      '  a.bin: AAE=',
      'data:',
      '  a.conf: listen 80',
      'kind: ConfigMap',
      'metadata:',
      '  name: web',
      '  namespace: default',
      '',
    ].join('\n'),
    [
      'apiVersion: v1',
      'data:',
      '  password: <7 bytes>',
      'immutable: true',
      'kind: Secret',
      'metadata:',
      '  name: login',
      '  namespace: default',
      'type: Opaque',
      '',
    ].join('\n'),
  ]);
});

test('objects are a List as JSON', async () => {
  const { pods } = update;
  expect(JSON.parse(await listText(printedObjects({ ...update, configObjects: [] }), 'json'))).toEqual({
    apiVersion: 'v1',
    kind: 'List',
    items: pods,
  });
});

test.each<[string, Service]>([
  ['with a port', makeService('web')],
  ['without an address', headless('web')],
  [
    'for a load balancer',
    makeService('web', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', choosesNodePorts: false }),
  ],
  [
    'with affinity and both families',
    makeService('web', {
      affinitySeconds: 60,
      clusterIPs: ['10.96.0.9', 'fd00::9'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    }),
  ],
  ['for another', makeService('web', { type: 'ExternalName', externalName: 'db.shared.svc', ports: [], selector: {} })],
])('a Service %s is shown as a manifest that declares it', async (_what, service) => {
  const text = await listText(printedObjects({ ...update, pods: [], configObjects: [service] }), 'yaml');
  expect(loadManifests(text, loadOptions).configObjects).toEqual([service]);
});

test('classes are counted and shown', () => {
  const classes = [
    makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' }, nodeSelector: { sandbox: 'yes' } }),
    makePriorityClass('high', 9),
  ];
  const declared = { ...update, pods: [], configObjects: classes };
  expect(validationJSON(declared)).toMatchObject({ runtimeClasses: ['sandboxed'], priorityClasses: ['high'] });
  expect(validationSummary(declared)).toBe('0 pods, 1 RuntimeClass, 1 PriorityClass: 0 errors, 1 warning');
  expect(printedObjects(declared)).toEqual([
    {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'sandboxed' },
      handler: 'runsc',
      overhead: { podFixed: { cpu: '100m' } },
      scheduling: { nodeSelector: { sandbox: 'yes' } },
    },
    {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'high' },
      value: 9,
      preemptionPolicy: 'PreemptLowerPriority',
    },
  ]);
});
