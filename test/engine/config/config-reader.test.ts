import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { ConfigObject } from '../../../src/api/values/config-object.ts';
import { ConfigObjects } from '../../../src/engine/config-objects/config-objects.ts';
import { ConfigReader } from '../../../src/engine/config/config-reader.ts';
import type { PodUpdate } from '../../../src/engine/config/pod-config.ts';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import type { PodSource } from '../../../src/engine/config/pod-source.ts';
import { PolledSource } from '../../../src/engine/config/polled/polled-source.ts';
import type { ManifestOrigin } from '../../../src/engine/config/polled/manifest-origin.ts';
import { podManifest } from './polled/asking.ts';
import { makePriorityClass } from '../../builders/node-classes.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ManualSource } from '../../fakes/manual-source.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

/** A reader of these sources, and its updates since the last call: operation and names. */
function reading(...sources: PodSource[]): { reader: ConfigReader; newUpdates: () => string[] } {
  return readingWith({}, ...sources);
}

function readingWith(
  more: Partial<ConstructorParameters<typeof ConfigReader>[0]>,
  ...sources: PodSource[]
): { reader: ConfigReader; newUpdates: () => string[] } {
  const updates: PodUpdate[] = [];
  const reader = new ConfigReader({
    faults: silentFaults(),
    secrets: new SecretValues(),
    sources,
    featureGates: defaultFeatureGates,
    configObjects: new ConfigObjects(),
    clock: new FakeClock(),
    emit: () => undefined,
    identify: (pod) => pod,
    onUpdate: (update) => {
      updates.push(update);
    },
    onConfigObjectsChanged: () => undefined,
    ...more,
  });
  const stopping = new AbortController();
  const ended = reader.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await ended;
  });
  const newUpdates = (): string[] =>
    updates.splice(0).map(({ op, pods }) => [op, ...pods.map(({ metadata }) => metadata.name)].join(' '));
  return { reader, newUpdates };
}

test('the list of one URL says nothing about the pods of another one', () => {
  const site = new ManualSource('http', 'https://box.example/site');
  const fleet = new ManualSource('http', 'https://box.example/fleet');
  const { reader, newUpdates } = reading(site, fleet);
  site.set(makeStaticPod('one'));
  fleet.set(makeStaticPod('two'));
  site.set(makeStaticPod('one'), makeStaticPod('three'));
  fleet.set();
  expect(newUpdates()).toEqual(['ADD one-edge1', 'ADD two-edge1', 'ADD three-edge1', 'REMOVE two-edge1']);
  expect(reader.snapshot()).toMatchObject([
    { where: 'https://box.example/site', pods: 2 },
    { where: 'https://box.example/fleet', pods: 0 },
  ]);
});

test('a pod has the source that declares it, with its version', async () => {
  let version = 'a1';
  const body = Buffer.from(podManifest('web'));
  const origin: ManifestOrigin = {
    where: 'git+https://box.example/fleet.git',
    fetch: (known) => Promise.resolve({ validators: { version }, ...(known === undefined && { content: { body } }) }),
    trust: () => undefined,
  };
  const clock = new FakeClock();
  const times = { httpCheckFrequencyMs: 20_000, phase: 0, random: () => 0.5 };
  const source = new PolledSource({ origin, clock, nodeName: 'edge1', ...times });
  const { reader } = reading(source, new ManualSource('file', '/manifests'));
  const web = 'Pod/default/web-edge1';
  await clock.advance(0);
  expect(reader.declarer(web)).toEqual({ where: origin.where, version: 'a1' });
  version = 'b2';
  await clock.advanceToNextTimer();
  await clock.advance(0);
  expect(reader.declarer(web)).toEqual({ where: origin.where, version: 'b2' });
  expect(reader.declarer('Pod/default/other-edge1')).toBeUndefined();
});

test('a pod has the file that declares it, from the source that owns its name', () => {
  const fileOf = (key: string): string => `/manifests/${key.replaceAll('/', '-')}.yaml`;
  const files = Object.assign(new ManualSource('file', '/manifests'), { fileOf });
  const stdin = new ManualSource('file', '<stdin>');
  const { reader } = reading(files, stdin);
  files.set(makeStaticPod('web'));
  stdin.set(makeStaticPod('web'), makeStaticPod('job'));
  const declarers = ['web-edge1', 'job-edge1', 'gone-edge1'].map((name) => reader.declarer(`Pod/default/${name}`));
  expect(declarers).toEqual([{ where: '/manifests/Pod-default-web-edge1.yaml' }, { where: '<stdin>' }, undefined]);
});

test('a pod that runs an earlier revision keeps the values of its class, too', () => {
  const classed = (uid: string) => makeStaticPod('web', { uid, spec: { priorityClassName: 'high' } });
  const [first, second] = [classed('u1'), classed('u2')];
  const run: (number | undefined)[] = [];
  const files = new ManualSource('file', '/manifests');
  readingWith(
    {
      revisionToRun: (declared) => (declared.pod === second ? { pod: first, isDerivedUID: false } : declared),
      onUpdate: ({ pods }) => run.push(...pods.map(({ spec }) => spec.priority)),
    },
    files,
  );
  files.setConfigObjects(makePriorityClass('high', 1000));
  files.set(first);
  files.set(second);
  files.setConfigObjects();
  files.set(second, makeStaticPod('other'));
  expect(run).toEqual([1000, undefined]);
});

test('what marks itself as the mirror of a static pod is never run', () => {
  const files = new ManualSource('file', '/manifests');
  const { reader, newUpdates } = reading(files);
  const { metadata, ...mirrored } = makeStaticPod('web');
  const annotations = { ...metadata.annotations, 'kubernetes.io/config.mirror': 'x' };
  files.set({ ...mirrored, metadata: { ...metadata, annotations } }, makeStaticPod('db'));
  expect(newUpdates()).toEqual(['ADD db-edge1']);
  expect(reader.snapshot()).toMatchObject([{ pods: 1 }]);
});

test('a URL that declares nothing at first says so, though another one was read before', () => {
  const [site, fleet] = [new ManualSource('http'), new ManualSource('http')];
  const { newUpdates } = reading(site, fleet);
  site.set();
  fleet.set();
  expect(newUpdates()).toEqual(['ADD', 'ADD']);
});

test('the first of two sources owns a pod, and the other takes over when it drops it', () => {
  const files = new ManualSource('file', '/manifests');
  const url = new ManualSource('http', 'https://box.example/pods');
  const { reader, newUpdates } = reading(files, url);
  const web = makeStaticPod('web');
  files.set(web);
  url.set(makeStaticPod('web', { uid: 'u1' }), makeStaticPod('other', { uid: web.metadata.uid }), makeStaticPod('db'));
  expect(newUpdates()).toEqual(['ADD web-edge1', 'ADD db-edge1']);
  const hint = 'This one is used once the other source no longer declares it.';
  const from = { origin: 'https://box.example/pods', severity: 'error', hint };
  const repeatedPod = { namespace: 'default', name: 'web-edge1' };
  const message = 'Pod default/web-edge1 is declared by /manifests already';
  expect(reader.snapshot()[1]).toMatchObject({
    pods: 1,
    problems: [
      { ...from, field: 'metadata.name', message, repeatedPod },
      { ...from, field: 'metadata.uid', message: `UID ${web.metadata.uid} is declared by /manifests already` },
    ],
  });
  url.set(makeStaticPod('web', { uid: 'u1' }));
  expect(newUpdates()).toEqual(['REMOVE db-edge1']);
  files.set();
  expect(newUpdates()).toEqual(['REMOVE web-edge1', 'ADD web-edge1']);
  expect(reader.snapshot()).toMatchObject([
    { pods: 0, problems: [] },
    { pods: 1, problems: [] },
  ]);
});

test('an immutable object is reported until another list arrives, whatever problems the source reports meanwhile', () => {
  const settings = (color: string): ConfigObject => ({
    kind: 'ConfigMap',
    namespace: 'default',
    name: 'settings',
    data: new Map([['color', Buffer.from(color)]]),
    binaryData: new Map(),
    type: '',
    immutable: true,
  });
  let sink: Parameters<PodSource['run']>[0] | undefined;
  const url: PodSource = {
    source: 'http',
    where: 'https://box.example/pods',
    run: (given) => {
      sink = given;
      return Promise.resolve();
    },
  };
  const { reader } = reading(url);
  const handOver = (...configObjects: ConfigObject[]): void =>
    sink?.onUpdate({ source: 'http', where: url.where, pods: [], problems: [], configObjects });
  const told = (): string[] | undefined => reader.snapshot()[0]?.problems.map(({ message }) => message);
  handOver(settings('red'));
  handOver(settings('blue'));
  sink?.onProblems([{ origin: url.where, message: 'the server answered 500', severity: 'error' }]);
  const refused = expect.stringMatching(/settings is immutable: it stays as it was$/) as string;
  expect(told()).toEqual(['the server answered 500', refused]);
  handOver(settings('red'));
  expect(told()).toEqual([]);
});

test('a StatefulSet that another source declared first declares no claims, until the other one lets go', () => {
  const text = (replicas: number): string => `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: "app:1"}]}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`;
  const [first, second] = [new ManualSource('file', '/a'), new ManualSource('applied', '/b')];
  const configObjects = new ConfigObjects();
  readingWith({ configObjects }, first, second);
  const claims = (): string[] =>
    ['data-db-0', 'data-db-1', 'data-db-2'].filter((name) => configObjects.claim('default', name) !== undefined);
  first.setManifest(text(1));
  second.setManifest(text(3));
  expect(claims()).toEqual(['data-db-0']);
  first.setManifest(text(2));
  expect(claims()).toEqual(['data-db-0', 'data-db-1']);
  first.setManifest('');
  expect(claims()).toEqual(['data-db-0', 'data-db-1', 'data-db-2']);
  first.setManifest(text(1));
  second.setManifest('');
  expect(claims()).toEqual(['data-db-0']);
});
