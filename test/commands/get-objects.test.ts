import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { resolveObjects } from '../../src/commands/get-objects.ts';
import { register } from '../../src/commands/ps.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import { writeAllocations } from '../../src/engine/services/service-records.ts';
import type { WorkloadSnapshot } from '../../src/engine/view/snapshot.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

const none = { pods: false, events: false, workloads: [], names: [] };
const allWorkloads = [
  'DaemonSet',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'CronJob',
  'Job',
];

test.each([
  ['svc', { ...none, kinds: ['Service'] }],
  ['services web', { ...none, kinds: ['Service'], names: ['web'] }],
  ['svc/web', { ...none, kinds: ['Service'], names: ['web'] }],
  ['po,svc', { ...none, pods: true, kinds: ['Service'] }],
  ['pods,events', { ...none, pods: true, events: true, kinds: [] }],
  ['all', { ...none, pods: true, kinds: ['Service'], workloads: allWorkloads }],
  ['deploy/web', { ...none, kinds: [], workloads: ['Deployment'], names: ['web'] }],
  ['cm,secret,pvc', { ...none, kinds: ['ConfigMap', 'Secret', 'PersistentVolumeClaim'] }],
  ['events', { ...none, events: true, kinds: [] }],
  ['pods', undefined],
  ['po web', undefined],
  ['web', undefined],
  ['nodes', undefined],
  ['po,nope', undefined],
  ['', undefined],
])('get %s means %j', (line, meant) => {
  expect(resolveObjects(line.split(' '))).toEqual(meant);
});

test('names of several kinds are refused', () => {
  expect(() => resolveObjects(['job/one', 'job/two', 'deploy/web'])).toThrow(
    expect.objectContaining({
      message: 'names of several kinds cannot be listed at once',
      hint: 'List them one by one: kubelet-ts get deploy/web',
    }),
  );
});

const manifest = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 53, protocol: UDP}]}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {password: hunter2}
`;

const deployment: WorkloadSnapshot = {
  kind: 'Deployment',
  namespace: 'default',
  name: 'web',
  desired: 3,
  current: 2,
  ready: 2,
  available: 1,
  updated: 2,
  conditions: [],
  pods: ['web-edge1', 'web-1-edge1'],
};

const get = (...words: string[]): Promise<{ stdout: string; stderr: string }> => getFrom([deployment], words);

async function getFrom(
  workloads: WorkloadSnapshot[],
  words: string[],
  serviceProblems?: object[],
): Promise<{ stdout: string; stderr: string }> {
  const rootDir = await temporaryFolder();
  const snapshot = { ...makeSnapshot([makeEntry('web-edge1')]), workloads, serviceProblems };
  await startFakeAgent(rootDir, { '/v1/snapshot': snapshot });
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  const allocation = { clusterIPs: ['10.223.0.17'], nodePorts: { 'TCP/80': 30_080 } };
  await writeAllocations(rootDir, new Map([['default/web', allocation]]));
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['get', '--root-dir', rootDir, ...words], { from: 'user' });
  const { stdout, stderr } = deps.printed;
  return { stdout, stderr };
}

test('get lists the objects of a kind with the files that declare them', async () => {
  expect(await get('svc,secrets')).toEqual({
    stdout:
      'NAMESPACE   NAME          DECLARED BY\n' +
      'default     secret/key    /m/web.yaml\n' +
      'default     service/web   /m/web.yaml\n',
    stderr: '',
  });
  expect((await get('svc')).stdout).toBe(
    'NAMESPACE   NAME          TYPE       CLUSTER-IP    PORT(S)               DECLARED BY\n' +
      'default     service/web   NodePort   10.223.0.17   80:30080/TCP,53/UDP   /m/web.yaml\n',
  );
  expect((await get('secret')).stdout).toBe(
    'NAMESPACE   NAME         TYPE     DATA   DECLARED BY\ndefault     secret/key   Opaque   1      /m/web.yaml\n',
  );
  expect((await get('svc', '-o', 'name')).stdout).toBe('service/web\n');
  const paths = '{.spec.clusterIP}:{.spec.ports[*].nodePort}';
  expect((await get('svc', 'web', '-o', `jsonpath=${paths}`)).stdout).toBe('10.223.0.17:30080');
  const columns = 'custom-columns=IP:.spec.clusterIP,NODE:.spec.ports[0].nodePort';
  expect((await get('svc', '-o', columns)).stdout).toBe('IP            NODE\n10.223.0.17   30080\n');
  expect((await get('secret', 'key', '-o', 'json')).stdout).not.toContain('hunter2');
  expect(await get('pvc')).toEqual({ stdout: '', stderr: 'No PersistentVolumeClaim is declared.\n' });
  await expect(get('svc', 'db')).rejects.toMatchObject({ message: 'services "db" not found' });
});

test('get pvc lists the claims of StatefulSet replicas whose data is still there', async () => {
  const rootDir = await temporaryFolder();
  const template = 'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: "app:1"}]}}';
  const claims =
    '{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}';
  const db = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 1, selector: {matchLabels: {a: b}}, ${template}, volumeClaimTemplates: [${claims}]}
`;
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/db.yaml', Buffer.from(db));
  for (const name of ['data-db-0', 'data-db-2', 'data-other-1'])
    await mkdir(join(rootDir, 'volumes/default', name), { recursive: true });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['get', '--root-dir', rootDir, 'pvc', '--no-headers'], { from: 'user' });
  expect(
    deps.printed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
  ).toEqual(
    ['data-db-0', 'data-db-2'].map((name) => [
      ...['default', `persistentvolumeclaim/${name}`, 'Bound', join(rootDir, 'volumes/default', name)],
      ...['1Gi', 'RWO', '/m/db.yaml'],
    ]),
  );
});

test('get svc has a column for problems if a Service has one', async () => {
  const about = { kind: 'Service', namespace: 'default', stage: 'address', hint: '', since: 0 };
  const serviceProblems = [
    { ...about, name: 'web', message: 'keeps 10.223.0.17' },
    { ...about, name: 'other', message: 'gets no address' },
  ];
  expect((await getFrom([], ['svc'], serviceProblems)).stdout).toBe(
    'NAMESPACE   NAME          TYPE       CLUSTER-IP    PORT(S)               PROBLEM             DECLARED BY\n' +
      'default     service/web   NodePort   10.223.0.17   80:30080/TCP,53/UDP   keeps 10.223.0.17   /m/web.yaml\n',
  );
});

test('get svc -o json has the addresses and ports that it got', async () => {
  const { stdout } = await get('svc', 'web', '-o', 'json');
  expect(JSON.parse(stdout)).toEqual({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      type: 'NodePort',
      publishNotReadyAddresses: false,
      internalTrafficPolicy: 'Cluster',
      ipFamilyPolicy: 'SingleStack',
      externalTrafficPolicy: 'Cluster',
      clusterIP: '10.223.0.17',
      clusterIPs: ['10.223.0.17'],
      selector: { app: 'web' },
      ports: [
        { name: 'a', protocol: 'TCP', port: 80, targetPort: 80, nodePort: 30_080 },
        { name: 'b', protocol: 'UDP', port: 53, targetPort: 53 },
      ],
    },
  });
});

test('get -w of other objects than pods is refused, not ignored', async () => {
  for (const words of ['deploy', 'svc', 'all'])
    await expect(get(words, '-w')).rejects.toMatchObject({ name: 'UserError', message: '-w watches only pods' });
});

test('get deploy waits until the manifests have been read', async () => {
  const rootDir = await temporaryFolder();
  const sources = [{ source: 'file', where: '/m', ready: false, pods: 0, problems: [] }];
  const asked = await startFakeAgent(rootDir, { '/v1/snapshot': { ...makeSnapshot([]), workloads: [], sources } });
  const program = new Command().exitOverride();
  register(program, makeDeps(makeRuntime([], [])));
  await program.parseAsync(['get', '--root-dir', rootDir, 'deploy'], { from: 'user' });
  expect(asked).toEqual([['GET /v1/snapshot?'], ['GET /v1/snapshot?settled']]);
});

test('get all lists pods, workloads and Services', async () => {
  const { stdout } = await get('all', '--no-headers');
  expect(stdout.split('\n').map((line) => line.split(/ +/)[1])).toEqual([
    'web-edge1',
    'deployment.apps/web',
    'service/web',
    undefined,
  ]);
});

test('get lists workloads with the columns of kubectl', async () => {
  const { stdout } = await get('deploy', 'web');
  expect(stdout.replace(/\S+\n$/, 'AGE\n')).toBe(
    [
      'NAMESPACE   NAME                  READY   UP-TO-DATE   AVAILABLE   AGE',
      'default     deployment.apps/web   2/3     2            1           AGE',
      '',
    ].join('\n'),
  );
  expect((await get('deploy', 'web', '-o', 'jsonpath={.spec.replicas}')).stdout).toBe('3');
  expect(JSON.parse((await get('deploy', 'web', '-o', 'json')).stdout)).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 3 },
    status: { replicas: 2, readyReplicas: 2, availableReplicas: 1, updatedReplicas: 2, conditions: [] },
  });
  expect(await get('sts')).toEqual({ stdout: '', stderr: 'No StatefulSet is declared.\n' });
  await expect(get('sts', 'web')).rejects.toThrow('statefulsets.apps "web" not found');
});

test('get says why fewer pods run than a workload asks for', async () => {
  const conditions = [
    { type: 'ReplicaFailure', status: 'True' as const, reason: 'OutOfcpu', message: 'web-2: no cpu' },
  ];
  const { stdout } = await getFrom(
    [
      { ...deployment, pods: [], conditions },
      { ...deployment, name: 'api', pods: [] },
    ],
    ['deploy'],
  );
  expect(stdout).toBe(
    [
      'NAMESPACE   NAME                  READY   UP-TO-DATE   AVAILABLE   AGE         REASON',
      'default     deployment.apps/web   2/3     2            1           <unknown>   OutOfcpu',
      'default     deployment.apps/api   2/3     2            1           <unknown>',
      '',
    ].join('\n'),
  );
});

test('get nodes shows this node', async () => {
  const { stdout } = await get('nodes', '-o', 'wide');
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['NAME', 'STATUS', 'AGE', 'VERSION', 'CONTAINER-RUNTIME'],
    ['edge1', 'Ready', expect.stringMatching(/^\d+\w+$/), '<unknown>', 'containerd://1.7.24'],
    [''],
  ]);
  expect((await get('node', 'edge1', '-o', 'name')).stdout).toBe('node/edge1\n');
  await expect(get('nodes', 'edge2')).rejects.toMatchObject({ message: 'no node "edge2": this is edge1' });
});
