import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { podAfter } from '../builders/pod-after.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { type Engine, World } from './world.ts';

/** Boots an engine with these pods on a new machine. */
function running(...pods: Pod[]): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  return runningFrom(new ManualSource(), ...pods);
}

async function runningFrom(
  source: ManualSource,
  ...pods: Pod[]
): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const engine = await world.boot({ sources: [source] });
  source.set(...pods);
  await world.until(() => pods.every((pod) => engine.isReady(pod.metadata.name)));
  return { world, engine, source };
}

const podFolders = (world: World): Promise<string[]> => readdir(join(world.rootDir, 'pods'));

describe('a pod that is declared', () => {
  test('has its mounts read-only with everything below them where the runtime can do that, and says so', async () => {
    const world = await World.make();
    const features = { recursiveReadOnlyMounts: true };
    world.runtime.capabilities.runtimeHandlers = [{ name: '', features }, { name: 'other' }];
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const mount = { name: 'disk', mountPath: '/disk', readOnly: true, recursiveReadOnly: 'IfPossible' };
    const main = { name: 'main', image: 'registry.example/app:1', volumeMounts: [mount] };
    source.set(makeStaticPod('web', { spec: { volumes: [{ name: 'disk', emptyDir: {} }], containers: [main] } }));
    await world.until(() => engine.isReady('web-edge1'));
    const [created] = world.runtime.requestsOf('createContainer');
    expect(created?.config?.mounts[0]).toMatchObject({ readonly: true, recursiveReadOnly: true });
    const shown = engine.kubelet.snapshot().pods[0]?.pod.status?.containerStatuses?.[0]?.volumeMounts;
    expect(shown).toEqual([{ ...mount, recursiveReadOnly: 'Enabled' }]);
  });

  test('shows its addresses with those of the family of the node first', async () => {
    const world = await World.make();
    world.runtime.scriptPodIPs(() => ['10.88.0.2', 'fd00::2']);
    const source = new ManualSource();
    const node = makeNodeConfig(world.folder, { nodeIPs: () => ['fd00::1'] });
    const engine = await world.boot({ sources: [source], node });
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    const { podIP, podIPs } = engine.pod('web-edge1')?.pod.status ?? {};
    expect({ podIP, podIPs }).toEqual({ podIP: 'fd00::2', podIPs: [{ ip: 'fd00::2' }, { ip: '10.88.0.2' }] });
  });

  test('runs and is ready, with an event for every step in order', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    expect(engine.events.sequence('web-edge1')).toEqual([
      'PodAdded',
      'WorkerStateChanged sync',
      'SyncStarted',
      'PodStatusChanged Pending',
      // PodReadyToStartContainers.
      'PodStatusChanged Pending',
      'Recorded Pulling',
      'Recorded Pulled',
      'Recorded Created',
      'Recorded Started',
      'SyncFinished',
      'ContainerStarted main',
      'ContainerStarted sandbox',
      'SyncStarted',
      'PodStatusChanged Running',
      'SyncFinished',
    ]);
    expect(engine.pod('web-edge1')?.pod.status).toMatchObject({
      phase: 'Running',
      podIP: '10.88.0.1',
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0, containerID: 'fake://container2' }],
    });
  });

  test('is ready to start containers while an image is pulled, and stays so when the pull fails', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const readyToStart = (): unknown =>
      engine.pod('web-edge1')?.pod.status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
    const release = world.runtime.hang('pullImage');
    world.runtime.injectError('pullImage', new Refusal(codes.unavailable, 'registry is down'), { times: 9 });
    source.set(makeStaticPod('web'));
    await world.until(() => world.runtime.requestsOf('pullImage').length === 1);
    const before = readyToStart();
    expect(before).toMatchObject({ status: 'True' });
    await world.pass(30_000);
    release();
    await world.until(() => engine.messages('Failed').length > 0);
    await world.pass(1000);
    expect(readyToStart()).toEqual(before);
  });

  test('warns once, when it starts, that the node has no cluster DNS server', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { clusterDNS: [] }) });
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.pass(300_000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#1']);
    expect(engine.messages('MissingClusterDNS')).toEqual([expect.stringContaining('ClusterFirst') as string]);
  });

  test('leaves nothing behind when its manifest is removed', async () => {
    const { world, engine, source } = await running(makeStaticPod('web'));
    const before = engine.events.sequence('web-edge1').length;
    source.set();
    await world.until(() => engine.pod('web-edge1') === undefined);
    expect(await world.inventory()).toEqual([]);
    expect(await podFolders(world)).toEqual([]);
    expect(await readdir(join(world.folder, 'logs', 'pods'))).toEqual([]);
    expect(await readdir(join(world.folder, 'logs', 'containers'))).toEqual([]);
    expect(engine.events.sequence('web-edge1').slice(before, before + 4)).toEqual([
      'PodRemoved',
      'WorkerStateChanged terminating',
      'SyncStarted',
      'Recorded Killing',
    ]);
  });

  test('runs again when its manifest comes back unchanged while it terminates', async () => {
    const { world, engine, source } = await running(makeStaticPod('web'));
    world.runtime.script('main', { stopAfterMs: 5000 });
    source.set();
    await world.until(() => engine.events.sequence('web-edge1').includes('Recorded Killing'));
    source.set(makeStaticPod('web'));
    await world.until(() => engine.events.sequence('web-edge1').includes('WorkerStateChanged removed'));
    await world.until(() => engine.isReady('web-edge1'));
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
    expect(engine.phase('web-edge1')).toBe('Running');
  });

  test('starts over when its manifest comes back while it terminates, whatever its restart policy', async () => {
    const once = makeStaticPod('once', { spec: { restartPolicy: 'Never' } });
    const { world, engine, source } = await running(once);
    world.runtime.script('main', { stopAfterMs: 5000 });
    source.set();
    await world.until(() => engine.messages('Killing').length === 1);
    source.set(once);
    await world.until(() => world.runtime.requestsOf('startContainer').length === 2);
    await world.until(() => engine.isReady('once-edge1'));
    expect(await world.inventory()).toEqual(['once-edge1#0 SANDBOX_READY', 'once-edge1/main#0 CONTAINER_RUNNING']);
  });

  test('that completed runs again when its manifest is removed and comes back', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const job = makeStaticPod('job', { spec: { restartPolicy: 'Never' } });
    world.runtime.script('main', { exitAfterMs: 300 });
    source.set(job);
    await world.until(() => engine.pod('job-edge1')?.worker.state === 'finished');
    source.set();
    source.set(job);
    await world.until(() => world.runtime.requestsOf('startContainer').length === 2);
    await world.until(() => engine.pod('job-edge1')?.worker.state === 'finished');
    expect(engine.phase('job-edge1')).toBe('Succeeded');
  });

  test('runs again when its manifest comes back unchanged after its removal', async () => {
    const { world, engine, source } = await running(makeStaticPod('web'));
    source.set();
    await world.until(() => engine.events.sequence('web-edge1').includes('WorkerStateChanged finished'));
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  });

  test('gives way to its next revision only when it has stopped', async () => {
    const { world, engine, source } = await running(makeStaticPod('web', { uid: 'first' }));
    world.runtime.script('main', { stopAfterMs: 7000 });
    const changedAt = world.clock.now();
    source.set(makeStaticPod('web', { uid: 'second' }));
    await world.runtime.waitForCall('runPodSandbox');
    const second = world.runtime.waitForCall('runPodSandbox', ({ config }) => config?.metadata?.uid === 'second');
    await world.until(() =>
      engine.events.events.some((event) => event.type === 'PodAdded' && event.pod.uid === 'second'),
    );
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    await world.until(() => engine.isReady('web-edge1') && engine.kubelet.snapshot().pods.length === 1);
    expect((await second).at - changedAt).toBeGreaterThanOrEqual(7000);
    // At once, without a back-off, because a pod that waits for a name is notified.
    expect((await second).at - changedAt).toBeLessThan(8000);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
    expect(await world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
  });

  test('that completes keeps its remains until its manifest is removed', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    world.runtime.script('main', { exitAfterMs: 300 });
    source.set(makeStaticPod('job', { spec: { restartPolicy: 'Never' } }));
    await world.until(() => engine.pod('job-edge1')?.worker.state === 'finished');
    expect(engine.phase('job-edge1')).toBe('Succeeded');
    expect(await world.inventory()).toEqual(['job-edge1#0 SANDBOX_NOTREADY', 'job-edge1/main#0 CONTAINER_EXITED']);
    source.set();
    await world.until(async () => (await podFolders(world)).length === 0);
    expect(await world.inventory()).toEqual([]);
  });
});

describe('a container that exits', () => {
  test('is restarted at once, the second time after ten seconds', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    const exitedAt = world.clock.now();
    await world.until(() => engine.waitingReason('web-edge1') === 'CrashLoopBackOff');
    const { main: untilMs = 0 } = engine.pod('web-edge1')?.backOffUntil ?? {};
    expect(Math.abs(untilMs - exitedAt - 10_000)).toBeLessThanOrEqual(1000);
    expect(engine.messages('BackOff')).toEqual([
      `Back-off restarting failed container main in pod web-edge1_default(${engine.pod('web-edge1')?.pod.metadata.uid ?? ''})`,
    ]);
    await world.until(() => world.runtime.running().includes('web-edge1/main#2'));
    const waitedMs = world.clock.now() - exitedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(10_000);
    expect(waitedMs).toBeLessThan(10_500);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('is never restarted later than the configured maximum', async () => {
    const world = await World.make();
    world.runtime.script('main', { exitAfterMs: 0, exitCode: 1 });
    const source = new ManualSource();
    const node = makeNodeConfig(world.folder, { maxContainerRestartPeriodMs: 2000 });
    await world.boot({ sources: [source], node });
    source.set(makeStaticPod('web'));
    await world.until(() => world.runtime.requestsOf('startContainer').length === 2);
    const startedAt = world.clock.now();
    await world.until(() => world.runtime.requestsOf('startContainer').length === 5);
    const waitedMs = world.clock.now() - startedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(6000);
    expect(waitedMs).toBeLessThan(8000);
  });

  test('leaves only its last instance in the runtime', async () => {
    const { world } = await running(makeStaticPod('web'));
    world.runtime.script('main', { exitAfterMs: 2000, exitCode: 3 });
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#3'));
    await world.pass(5000);
    expect(await world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#3 CONTAINER_EXITED']);
  });
});

describe('an engine that ends', () => {
  test('leaves its pods to the next one, which neither restarts nor recreates anything', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    await engine.kill();
    const callsBefore = world.runtime.calls.length;
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    const changes = world.runtime.calls
      .slice(callsBefore)
      .filter(({ method }) => /^(run|create|start|stop|remove)/.test(method));
    expect(changes).toEqual([]);
    expect(next.events.sequence('web-edge1').filter((label) => !label.startsWith('ContainerStarted'))).toEqual([
      'PodAdded',
      'WorkerStateChanged sync',
      'SyncStarted',
      'PodStatusChanged Running',
      'SyncFinished',
      'SyncStarted',
      'SyncFinished',
    ]);
  });

  test('is followed by one that keeps counting restarts', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    await engine.kill();
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#2']);
  });

  test('is followed by one that stops a revision which was replaced meanwhile before it starts the next', async () => {
    const { world, engine } = await running(makeStaticPod('web', { uid: 'first' }));
    world.runtime.script('main', { stopAfterMs: 700 });
    await engine.kill();
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    const bootedAt = world.clock.now();
    source.set(makeStaticPod('web', { uid: 'second' }));
    await world.until(async () => (await podFolders(world)).join() === 'second' && next.isReady('web-edge1'));
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
    // Without a back-off.
    expect(world.clock.now() - bootedAt).toBeLessThan(10_000);
  });

  test('does not wait for a call that the runtime does not answer', async () => {
    const world = await World.make();
    world.runtime.hang('runPodSandbox');
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('stuck'));
    await world.until(() => world.runtime.requestsOf('runPodSandbox').length === 1);
    const stoppedAt = world.clock.now();
    await engine.kill();
    expect(world.clock.now() - stoppedAt).toBe(2000);
  });
});

describe('orphans', () => {
  test('are stopped and removed when their manifest went while no engine ran', async () => {
    const { world, engine } = await running(makeStaticPod('web'), makeStaticPod('old'));
    await engine.kill();
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'));
    await world.until(async () => next.isReady('web-edge1') && (await podFolders(world)).length === 1);
    expect(await world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
    expect(await podFolders(world)).toEqual([makeStaticPod('web').metadata.uid]);
  });

  test('go too when the runtime makes their sandbox only after nothing else was left of them', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const goOn = world.runtime.hang('runPodSandbox');
    source.set(makeStaticPod('web'));
    await world.runtime.waitForCall('runPodSandbox');
    engine.crash();
    const nothing = new ManualSource();
    nothing.set();
    await world.boot({ sources: [nothing] });
    await world.until(async () => (await podFolders(world)).length === 0);
    goOn();
    await world.until(async () => (await world.inventory()).length === 1);
    await world.until(async () => (await world.inventory()).length === 0);
  });

  test('stay while they are not ours: pods that somebody else made are not touched', async () => {
    const world = await World.make();
    world.runtime.addImage('app:1');
    const labels = { 'io.kubernetes.pod.name': 'theirs', 'io.kubernetes.pod.uid': 'theirs-1' };
    const { podSandboxId } = await world.runtime.runPodSandbox({
      config: { metadata: { name: 'theirs', namespace: 'default', uid: 'theirs-1' }, labels },
    });
    const { containerId } = await world.runtime.createContainer({
      podSandboxId,
      config: { metadata: { name: 'main' }, image: { image: 'app:1' }, labels },
    });
    await world.runtime.startContainer({ containerId });
    const source = new ManualSource();
    await world.boot({ sources: [source] });
    source.set();
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['theirs/main#0']);
  });

  test('stay with leaveOrphans', async () => {
    const { world, engine } = await running(makeStaticPod('old'));
    await engine.kill();
    const source = new ManualSource();
    await world.boot({ sources: [source], leaveOrphans: true });
    source.set();
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['old-edge1/main#0']);
  });

  test.each([
    ['runs', 0],
    ['has ended', 10],
  ])('and one of the same name is replaced with leaveOrphans, if it %s', async (_title, exitAfterMs) => {
    const world = await World.make();
    if (exitAfterMs > 0) world.runtime.script('main', { exitAfterMs });
    const pod = (name: string, uid: string): Pod => makeStaticPod(name, { uid, spec: { restartPolicy: 'Never' } });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(pod('job', 'first'), pod('other', 'other'));
    await world.until(() => world.runtime.requestsOf('startContainer').length === 2);
    await world.pass(1000);
    await engine.kill();
    const next = new ManualSource();
    await world.boot({ sources: [next], leaveOrphans: true });
    next.set(pod('job', 'second'));
    await world.until(() => world.runtime.requestsOf('startContainer').length === 3);
    await world.until(async () => (await podFolders(world)).join() === 'other,second');
  });

  test('lose their folder if only that is left', async () => {
    const world = await World.make();
    await mkdir(join(world.rootDir, 'pods', 'gone', 'volumes'), { recursive: true });
    const source = new ManualSource();
    await world.boot({ sources: [source] });
    source.set();
    await world.until(async () => (await podFolders(world)).length === 0);
  });

  test('that cannot be removed hold up neither each other nor a pod', async () => {
    const { world, engine } = await running(makeStaticPod('bad'), makeStaticPod('good'));
    await engine.kill();
    const { uid } = makeStaticPod('bad').metadata;
    const [bad] = (await world.runtime.listPodSandbox()).items.filter(({ metadata }) => metadata?.uid === uid);
    world.runtime.hang('removePodSandbox', { when: ({ podSandboxId }) => podSandboxId === bad?.id });
    const source = new ManualSource();
    const next = await world.boot({ sources: [source], prunes: true });
    source.set();
    await world.until(() => world.runtime.requestsOf('removePodSandbox').length === 2);
    source.set(makeStaticPod('new'));
    await world.until(() => next.isReady('new-edge1'));
  });

  test('that are declared again while they are removed run when that is done', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    await engine.kill();
    world.runtime.killSandbox('web-edge1');
    const release = world.runtime.hang('removePodSandbox');
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set();
    await world.until(() => world.runtime.requestsOf('removePodSandbox').length === 1);
    source.set(makeStaticPod('web'));
    await world.pass(5000);
    expect(world.runtime.running()).toEqual([]);
    release();
    await world.until(() => next.isReady('web-edge1'));
    await world.pass(5000);
    expect(await world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
    expect(await podFolders(world)).toEqual([makeStaticPod('web').metadata.uid]);
  });

  test.each([
    ['a folder and a URL', new ManualSource('file'), new ManualSource('http')],
    ['two URLs', new ManualSource('http'), new ManualSource('http')],
  ])('of a URL are nothing before every URL was read, of %s', async (_what, other, url) => {
    const { world, engine } = await runningFrom(new ManualSource('http'), makeStaticPod('web'));
    await engine.kill();
    const next = await world.boot({ sources: [other, url] });
    other.set();
    await world.pass(20_000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    url.set(makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  });

  test('of a folder do not wait for a URL that never answers', async () => {
    const { world, engine, source } = await running(makeStaticPod('changed'), makeStaticPod('gone'));
    const changed = makeStaticPod('changed', { spec: { terminationGracePeriodSeconds: 5 } });
    await engine.kill();
    const next = await world.boot({ sources: [source, new ManualSource('http')] });
    source.set(changed);
    await world.until(() => next.isReady('changed-edge1'));
    expect(world.runtime.running()).toEqual(['changed-edge1/main#0']);
    expect(await podFolders(world)).toEqual([changed.metadata.uid]);
  });

  test('are empty until the list of every source was handled', async () => {
    const { world, engine } = await runningFrom(new ManualSource('http'), makeStaticPod('web'));
    await engine.kill();
    const files = new ManualSource();
    const url = new ManualSource('http');
    // Until the runtime is ready, the sync loop queues its inputs and handles none.
    world.runtime.setCondition('RuntimeReady', false);
    const next = await world.boot({ sources: [files, url] });
    files.set();
    await world.pass(10_000);
    url.set(makeStaticPod('web'));
    world.runtime.setCondition('RuntimeReady', true);
    await world.until(() => next.isReady('web-edge1'));
    await world.pass(5000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    expect(world.runtime.requestsOf('stopContainer')).toEqual([]);
  });
});

describe('a runtime', () => {
  test('that goes down and comes back finds the syncs resumed', async () => {
    const world = await World.make({ wire: true });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    world.server.stop();
    await world.pass(60_000);
    expect(engine.kubelet.unhealthyBecause()).toMatch(/^container runtime is down: /);
    source.set(makeStaticPod('web'), makeStaticPod('late'));
    await world.server.start({ socketPath: world.socketPath });
    await world.until(() => engine.isReady('late-edge1'));
    expect(engine.kubelet.unhealthyBecause()).toBeUndefined();
    expect(world.runtime.running()).toEqual(['late-edge1/main#0', 'web-edge1/main#0']);
  });

  test('that takes long to list what it has holds up the first pod no longer than that', async () => {
    const world = await World.make();
    const goOn = world.runtime.hang('listPodSandbox');
    const source = new ManualSource();
    source.set(makeStaticPod('web'));
    const engine = await world.boot({ sources: [source] });
    await world.until(() => engine.events.events.some(({ type }) => type === 'RuntimeReady'));
    goOn();
    // No time passes.
    await world.runtime.waitForCall('runPodSandbox');
  });

  test('that was down for long is not met with all the housekeeping that was due meanwhile', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    await mkdir(join(world.rootDir, 'pods', 'gone'), { recursive: true });
    world.runtime.setCondition('RuntimeReady', false);
    await world.pass(5 * 60_000);
    world.runtime.injectError('listContainers', new Refusal(codes.unknown, 'no'), {
      times: Infinity,
      when: ({ filter }) => filter?.labelSelector['io.kubernetes.pod.uid'] === 'gone',
    });
    world.runtime.setCondition('RuntimeReady', true);
    await world.until(() => engine.kubelet.unhealthyBecause() === undefined);
    await world.pass(7000);
    const looks = world.runtime
      .requestsOf('listContainers')
      .filter(({ filter }) => filter?.labelSelector['io.kubernetes.pod.uid'] === 'gone');
    expect(looks.length).toBeLessThan(6);
  });

  test('that hangs at the sandbox of one pod does not delay another pod', async () => {
    const world = await World.make();
    const release = world.runtime.hang('runPodSandbox', {
      when: ({ config }) => config?.metadata?.name === 'stuck-edge1',
    });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('stuck'));
    await world.until(() => world.runtime.requestsOf('runPodSandbox').length === 1);
    source.set(makeStaticPod('stuck'), makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    expect(engine.phase('stuck-edge1')).toBe('Pending');
    release();
    await world.until(() => engine.isReady('stuck-edge1'));
  });

  test('without a network starts host-network pods only, and the others once it is there', async () => {
    const world = await World.make();
    world.runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'no CNI configuration');
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('host', { spec: { hostNetwork: true } }), makeStaticPod('web'));
    await world.until(() => engine.isReady('host-edge1'));
    expect(engine.messages('NetworkNotReady').at(-1)).toBe(
      'network is not ready: container runtime network not ready: NetworkPluginNotReady: no CNI configuration',
    );
    expect(engine.phase('web-edge1')).toBe('Pending');
    world.runtime.setCondition('NetworkReady', true);
    const readyAt = world.clock.now();
    await world.until(() => engine.isReady('web-edge1'));
    expect(world.clock.now() - readyAt).toBeLessThan(7000);
  });

  test('that loses a sandbox gets a new one', async () => {
    const { world, engine } = await running(makeStaticPod('web'));
    world.runtime.killSandbox('web-edge1');
    await world.until(() => world.runtime.running().length === 1);
    expect(await world.inventory()).toContain('web-edge1#1 SANDBOX_READY');
    expect(engine.messages('SandboxChanged')).toEqual(['Pod sandbox changed, it will be killed and re-created.']);
  });
});

describe('an init container that the runtime does not remove', () => {
  test('does not hold up the pod in its next sandbox', async () => {
    const world = await World.make();
    world.runtime.script('setup', { exitAfterMs: 100 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(
      makeStaticPod('web', { spec: { initContainers: [{ name: 'setup', image: 'registry.example/app:1' }] } }),
    );
    await world.until(() => engine.isReady('web-edge1'));
    world.runtime.injectError('removeContainer', new Refusal(codes.unknown, 'failed to set removing state'));
    const lostAt = world.clock.now();
    world.runtime.killSandbox('web-edge1');
    await world.until(() => world.runtime.running().length === 1 && engine.isReady('web-edge1'));
    expect(await world.inventory()).toContain('web-edge1#1 SANDBOX_READY');
    expect(world.clock.now() - lostAt).toBeLessThan(5000);
  });
});

describe('removeAllPods', () => {
  test('stops and removes every pod, also what completed before', async () => {
    const world = await World.make();
    world.runtime.script('main', { exitAfterMs: 300 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source], leaveOrphans: true });
    const sleeper = { containers: [{ name: 'sleeper', image: 'registry.example/app:1' }] };
    source.set(makeStaticPod('job', { spec: { restartPolicy: 'Never' } }), makeStaticPod('web', { spec: sleeper }));
    await world.until(() => engine.pod('job-edge1')?.worker.state === 'finished' && engine.isReady('web-edge1'));
    let done = false;
    const removed = engine.kubelet.removeAllPods().then(() => {
      done = true;
    });
    await world.until(() => done);
    await removed;
    expect(await world.inventory()).toEqual([]);
    expect(await podFolders(world)).toEqual([]);
  });

  test('looks for remains of a running pod once, and leaves none of a pod that was declared again', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source], leaveOrphans: true });
    const afterRemoval = async (): Promise<string[]> => {
      source.set(makeStaticPod('web'));
      await world.until(() => engine.isReady('web-edge1'));
      let done = false;
      const removed = engine.kubelet.removeAllPods().then(() => {
        done = true;
      });
      await world.until(() => done);
      await removed;
      const methods = world.runtime.calls.map(({ method }) => method);
      return methods.slice(methods.lastIndexOf('removePodSandbox') + 1);
    };
    // That of the PLEG, which takes note of the removal.
    expect(await afterRemoval()).toEqual(['listPodSandbox', 'listContainers']);
    await afterRemoval();
    expect(await world.inventory()).toEqual([]);
    expect(await podFolders(world)).toEqual([]);
  });

  test('stops pods before those that they depend on', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const pod = (name: string, dependsOn: string): Pod =>
      podAfter(name, dependsOn, { spec: { containers: [{ name, image: 'registry.example/app:1' }] } });
    for (const name of ['etcd', 'apiserver', 'controller']) world.runtime.script(name, { stopAfterMs: 1000 });
    source.set(pod('etcd', ''), pod('apiserver', 'etcd'), pod('controller', 'apiserver'), pod('web', 'gone'));
    await world.until(() => engine.isReady('controller-edge1'));
    let done = false;
    const removed = engine.kubelet.removeAllPods().then(() => {
      done = true;
    });
    await world.until(() => done);
    await removed;
    const removals = engine.events.events.flatMap((event) => (event.type === 'PodRemoved' ? [event.pod.name] : []));
    expect(removals).toEqual(['web-edge1', 'controller-edge1', 'apiserver-edge1', 'etcd-edge1']);
    const ends = engine.events.events.flatMap((event) =>
      event.type === 'ContainerDied' ? (event.containerName ?? []) : [],
    );
    expect(ends).toEqual(['controller', 'apiserver', 'etcd']);
    expect(await world.inventory()).toEqual([]);
  });

  test('drops pods that were not admitted', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'), makeStaticPod('elsewhere', { spec: { nodeSelector: { disk: 'ssd' } } }));
    await world.until(() => engine.isReady('web-edge1') && engine.phase('elsewhere-edge1') === 'Failed');
    let done = false;
    const removed = engine.kubelet.removeAllPods().then(() => {
      done = true;
    });
    await world.until(() => done);
    await removed;
    expect(await world.inventory()).toEqual([]);
  });

  test('is done at once when there are none', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set();
    await world.pass(1000);
    await expect(engine.kubelet.removeAllPods()).resolves.toEqual([]);
  });

  test('pods that wait for one another in the runtime have their time after each removal', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const names = ['a', 'b', 'c', 'd'];
    source.set(...names.map((name) => makeStaticPod(name)));
    await world.until(() => names.every((name) => engine.isReady(`${name}-edge1`)));
    const { items } = await world.runtime.listPodSandbox();
    for (const [index, { id }] of items.entries()) {
      const release = world.runtime.hang('stopPodSandbox', { when: ({ podSandboxId }) => podSandboxId === id });
      world.clock.after(50_000 * (index + 1), release);
    }
    let left: unknown;
    const removed = engine.kubelet.removeAllPods().then((unremoved) => {
      left = unremoved;
    });
    await world.until(() => left !== undefined);
    await removed;
    expect(left).toEqual([]);
  });

  test('names a pod that the runtime does not let go, in the end, and the others are removed', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'), makeStaticPod('db'));
    await world.until(() => engine.isReady('web-edge1') && engine.isReady('db-edge1'));
    const { items } = await world.runtime.listPodSandbox();
    const web = items.find(({ metadata }) => metadata?.name === 'web-edge1');
    const busy = new Refusal(codes.unknown, 'failed to remove netns: device or resource busy');
    world.runtime.injectError('stopPodSandbox', busy, {
      times: 1000,
      when: ({ podSandboxId }) => podSandboxId === web?.id,
    });
    const from = world.clock.now();
    let left: unknown;
    const removed = engine.kubelet.removeAllPods().then((unremoved) => {
      left = unremoved;
    });
    await world.until(() => left !== undefined);
    await removed;
    expect(left).toEqual([
      { pod: 'default/web-edge1', reason: 'error killing pod: failed to remove netns: device or resource busy' },
    ]);
    expect(world.clock.now() - from).toBeLessThan(70_000);
    expect((await world.inventory()).join()).not.toContain('db-edge1');
  });
});
