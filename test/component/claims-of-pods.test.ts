import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeClaim } from '../builders/storage-objects.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const podWithClaim = (name: string, uid: string) =>
  makeStaticPod(name, {
    uid,
    spec: {
      containers: [{ name: 'main', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  });

test('a pod waits for its claim, and starts at once when the claim is declared', async () => {
  const world = await World.make();
  const [pods, claims] = [new ManualSource(), new ManualSource('http', '<claims>')];
  const engine = await world.boot({ sources: [pods, claims] });
  claims.set();
  pods.set(podWithClaim('web', 'u1'));
  await world.until(() => engine.messages('FailedMount').length > 0);
  expect(engine.messages('FailedMount')[0]).toBe(
    'MountVolume.SetUp failed for volume "data" : persistentvolumeclaim "data" not found',
  );
  expect(engine.waitingReason('web-edge1')).toBe('ContainerCreating');

  const came = world.clock.now();
  claims.setConfigObjects(makeClaim('data'));
  await world.until(() => engine.isReady('web-edge1'));
  expect(world.clock.now() - came).toBeLessThan(2000);
});

test('data outlive the pod, its manifest, the claim and the agent', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setConfigObjects(makeClaim('data'));
  source.set(podWithClaim('web', 'u1'));
  await world.until(() => engine.isReady('web-edge1'));
  const mounts = world.runtime.requestsOf('createContainer')[0]?.config?.mounts ?? [];
  const path = join(world.rootDir, 'volumes', 'default', 'data');
  expect(mounts.find(({ containerPath }) => containerPath === '/data')?.hostPath).toBe(path);
  await writeFile(join(path, 'row'), '1');

  source.setConfigObjects();
  source.set();
  await world.until(() => engine.kubelet.snapshot().pods.length === 0);
  expect(engine.messages('ClaimKept')).toEqual(['persistentvolumeclaim "data" keeps its data']);
  await engine.kill();

  const again = new ManualSource();
  const next = await world.boot({ sources: [again] });
  again.setConfigObjects(makeClaim('data'));
  again.set(podWithClaim('web', 'u2'));
  await world.until(() => next.isReady('web-edge1'));
  expect(await readFile(join(path, 'row'), 'utf8')).toBe('1');
});

/** Pod a uses a ReadWriteOncePod claim, and pod b waits for it. */
async function claimInUse() {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setConfigObjects(makeClaim('data', { accessModes: ['ReadWriteOncePod'] }));
  source.set(podWithClaim('a', 'u1'));
  await world.until(() => engine.isReady('a-edge1'));
  source.set(podWithClaim('a', 'u1'), podWithClaim('b', 'u2'));
  await world.until(() => engine.messages('FailedMount').length > 0);
  return { world, source, engine };
}

test('a pod that waits for a ReadWriteOncePod claim starts as soon as the other one has ended', async () => {
  const { world, source, engine } = await claimInUse();
  expect(world.runtime.running()).toEqual(['a-edge1/main#0']);
  // The back-off of failed mounts is minutes long by then.
  await world.pass(600_000);
  source.set(podWithClaim('b', 'u2'));
  await world.until(() => world.runtime.running().length === 0);
  const ended = world.clock.now();
  await world.until(() => engine.isReady('b-edge1'));
  expect(world.clock.now() - ended).toBeLessThan(3000);
});

test('a stopped pod leaves its ReadWriteOncePod claim to another pod, and waits for it once it is started', async () => {
  const { world, source, engine } = await claimInUse();

  const a = { namespace: 'default', name: 'a-edge1' };
  await engine.kubelet.operate({ action: 'stop', pod: a });
  await world.until(() => engine.isReady('b-edge1'));
  expect(world.runtime.running()).toEqual(['b-edge1/main#0']);

  const refused = engine.messages('FailedMount').length;
  await engine.kubelet.operate({ action: 'start', pod: a });
  await world.until(() => engine.messages('FailedMount').length > refused);
  source.set(podWithClaim('a', 'u1'));
  await world.until(() => engine.isReady('a-edge1'));
  expect(world.runtime.running()).toEqual(['a-edge1/main#1']);
});

test('the claim of a pod whose stop was cut short by a reboot is free for another pod', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const claim = makeClaim('data', { accessModes: ['ReadWriteOncePod'] });
  source.setConfigObjects(claim);
  source.set(podWithClaim('a', 'u1'));
  await world.until(() => engine.isReady('a-edge1'));
  const release = world.runtime.hang('stopContainer');
  await engine.kubelet.operate({ action: 'stop', pod: { namespace: 'default', name: 'a-edge1' } });
  await world.until(() => world.runtime.requestsOf('stopContainer').length > 0);
  engine.crash();
  release();
  world.runtime.reboot({ forgets: true });

  const again = new ManualSource();
  const next = await world.boot({ sources: [again] });
  again.setConfigObjects(claim);
  again.set(podWithClaim('a', 'u1'), podWithClaim('b', 'u2'));
  await world.until(() => next.isReady('b-edge1'));
  expect({ running: world.runtime.running(), reason: next.pod('a-edge1')?.pod.status?.reason }).toEqual({
    running: ['b-edge1/main#0'],
    reason: 'Stopped',
  });
});

test.each(['stopped', 'ended'])('a pod that is %s reports its claims once its manifest is removed', async (how) => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const pod = podWithClaim('web', 'u1');
  source.setConfigObjects(makeClaim('data'));
  source.set({ ...pod, spec: { ...pod.spec, restartPolicy: how === 'ended' ? 'Never' : 'Always' } });
  await world.until(() => engine.isReady('web-edge1'));
  const asked =
    how === 'stopped' && engine.kubelet.operate({ action: 'stop', pod: { namespace: 'default', name: 'web-edge1' } });
  if (how === 'ended') world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 0);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  await asked;
  const before = engine.messages('ClaimKept');
  source.set();
  await world.until(() => engine.kubelet.snapshot().pods.length === 0);
  await world.pass(60_000);
  expect({ before, after: engine.messages('ClaimKept') }).toEqual({
    before: [],
    after: ['persistentvolumeclaim "data" keeps its data'],
  });
});
