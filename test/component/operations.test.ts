import { isConditionMet, waitConditions } from '../../src/commands/wait/wait-condition.ts';
import { podTable } from '../../src/engine/listing/pod-table.ts';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import type { OperationRequest } from '../../src/engine/operations/operation.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const web = { namespace: 'default', name: 'web-edge1' };

/** A revision of the pod `web`. A change of `env` replaces the pod, one of the image does not. */
function revision(env: string, more: Partial<RawPod['spec']> & { annotations?: Record<string, string> } = {}): Pod {
  const { annotations, ...spec } = more;
  const containers = [{ name: 'main', image: 'app:1', env: [{ name: 'REVISION', value: env }] }];
  return makeStaticPod('web', { ...(annotations && { annotations }), spec: { containers, ...spec } });
}

type Rebooted = 'the agent' | 'the machine';
const eachRebooted: readonly Rebooted[] = ['the agent', 'the machine'];

interface Running {
  world: World;
  engine: Engine;
  source: ManualSource;
}

async function running(first: Pod = revision('1')): Promise<Running> {
  const world = await World.make();
  world.runtime.addImage('app:1');
  world.runtime.addImage('app:2');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setDerived(first);
  await world.until(() => engine.isReady('web-edge1'));
  await world.pass(3000);
  return { world, engine, source };
}

/** Asks, and lets time pass until the answer. */
async function ask({ world, engine }: Running, request: Omit<OperationRequest, 'pod'>): Promise<string> {
  let answer: string | undefined;
  let failure: unknown;
  engine.kubelet.operate({ ...request, pod: web }).then(
    (message) => (answer = message),
    (error: unknown) => (failure = error),
  );
  await world.until(() => answer !== undefined || failure !== undefined);
  if (failure !== undefined) throw failure as Error;
  return answer ?? '';
}

/** Ends the agent like SIGKILL, or the whole machine, and starts the next one. */
async function reboot({ world, engine }: Running, declared: Pod, what: Rebooted = 'the agent'): Promise<Running> {
  engine.crash();
  if (what === 'the machine') world.runtime.reboot({ forgets: true });
  const source = new ManualSource();
  const next = { world, source, engine: await world.boot({ sources: [source] }) };
  source.setDerived(declared);
  return next;
}

const envOf = (engine: Engine): string | undefined =>
  engine.kubelet.snapshot().pods.at(-1)?.pod.spec.containers[0]?.env?.[0]?.value;
const uidOf = (engine: Engine): string | undefined => engine.pod('web-edge1')?.pod.metadata.uid;
const updateOf = (engine: Engine): string | undefined => engine.pod('web-edge1')?.waitingUpdate?.reason;
const runs = (one: Running, env: string): Promise<void> =>
  one.world.until(() => envOf(one.engine) === env && one.engine.isReady('web-edge1'));

test('an update waits for a lock file that was created after an earlier update passed it', async () => {
  const world = await World.make();
  const lock = join(world.folder, 'lock');
  const annotations = { 'kubelet-ts.io/update-lock': lock };
  world.runtime.addImage('app:1');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const one = { world, engine, source };
  source.setDerived(revision('1', { annotations }));
  await runs(one, '1');
  source.setDerived(revision('2', { annotations }));
  await runs(one, '2');
  await world.pass(30_000);
  await writeFile(lock, '');
  source.setDerived(revision('3', { annotations }));
  await world.until(() => updateOf(engine) === 'UpdateLock');
  await world.pass(60_000);
  expect([envOf(engine), updateOf(engine)]).toEqual(['2', 'UpdateLock']);
  await rm(lock);
  await runs(one, '3');
});

describe('restart', () => {
  test('starts the containers again in the same pod, and repeats nothing', async () => {
    const one = await running();
    const [uid, ip] = [uidOf(one.engine), one.engine.pod('web-edge1')?.pod.status?.podIP];
    expect(await ask(one, { action: 'restart' })).toBe('pod/web-edge1 restarts');
    await one.world.until(() => one.world.runtime.running().includes('web-edge1/main#1'));
    await one.world.pass(30_000);
    expect(one.world.runtime.running()).toEqual(['web-edge1/main#1']);
    expect([uidOf(one.engine), one.engine.pod('web-edge1')?.pod.status?.podIP]).toEqual([uid, ip]);
  });

  test('is not done, and the pod not Ready, while the old container ends', async () => {
    const one = await running();
    const look = async (): Promise<unknown> => {
      const snapshot = one.engine.kubelet.snapshot();
      const { rows } = await podTable(snapshot.pods, snapshot, { wide: false, now: one.world.clock.now() });
      const met = waitConditions.filter((condition) => isConditionMet('web', condition, snapshot));
      return { status: rows[0]?.cells[3], restarting: one.engine.pod('web-edge1')?.restarting, met };
    };
    const wasReady = { status: 'Running', restarting: undefined, met: ['ready', 'updated'] };
    expect(await look()).toEqual(wasReady);
    const end = one.world.runtime.hang('stopContainer');
    await ask(one, { action: 'restart' });
    await one.world.runtime.waitForCall('stopContainer');
    expect(await look()).toEqual({ status: 'Running (restarting)', restarting: ['main'], met: [] });
    end();
    await one.world.until(() => one.world.runtime.running().includes('web-edge1/main#1'));
    await one.world.until(() => one.engine.isReady('web-edge1'));
    expect(await look()).toEqual(wasReady);
  });

  test('that is asked of an agent that has only just started is done', async () => {
    const one = await running();
    one.engine.crash();
    const source = new ManualSource();
    const answer = one.world.runtime.hang('containerStatus');
    const next = { ...one, source, engine: await one.world.boot({ sources: [source] }) };
    source.setDerived(revision('1'));
    await one.world.until(() => next.engine.pod('web-edge1') !== undefined);
    const asked = next.engine.kubelet.operate({ action: 'restart', pod: web });
    await next.world.pass(1000);
    answer();
    await next.world.pass(1000);
    expect(await asked).toBe('pod/web-edge1 restarts');
    await next.world.until(() => next.world.runtime.running().includes('web-edge1/main#1'));
  });

  test('is done exactly once after a kill of the agent at any of its steps', async () => {
    for (const step of ['stopContainer', 'createContainer', 'startContainer'] as const) {
      for (const when of ['before', 'after'] as const) {
        const one = await running();
        const release = when === 'before' ? one.world.runtime.hang(step) : undefined;
        const asked = one.engine.kubelet.operate({ action: 'restart', pod: web });
        await one.world.until(
          () =>
            one.world.runtime.calls.filter(({ method }) => method === step).length > (step === 'stopContainer' ? 0 : 1),
        );
        await asked;
        const next = await reboot(one, revision('1'));
        release?.();
        await one.world.until(() => next.engine.isReady('web-edge1'));
        await one.world.pass(60_000);
        const [name, ...others] = one.world.runtime.running();
        expect([step, when, others]).toEqual([step, when, []]);
        // A container that was created and never started is one that does not count.
        expect(name).toMatch(/^web-edge1\/main#[12]$/);
        expect(one.world.runtime.calls.filter(({ method }) => method === 'stopContainer').length).toBeLessThan(4);
      }
    }
  });

  test('of a container that the pod lacks is refused', async () => {
    const one = await running();
    const refused = ask(one, { action: 'restart', container: 'other' });
    await expect(refused).rejects.toThrow('pod web-edge1 has no container other that can restart');
  });
});

describe('stop and start', () => {
  test('a stopped pod stays down across restarts of the agent, until it is started', async () => {
    let one = await running();
    const uid = uidOf(one.engine);
    await ask(one, { action: 'stop' });
    await one.world.until(() => one.world.runtime.running().length === 0);
    expect(one.engine.pod('web-edge1')?.pod.status?.reason).toBe('Stopped');
    one = await reboot(one, revision('1'));
    await one.world.until(() => one.engine.pod('web-edge1')?.pod.status?.reason === 'Stopped');
    await one.world.pass(120_000);
    expect(one.world.runtime.running()).toEqual([]);
    await expect(ask(one, { action: 'restart' })).rejects.toThrow('pod web-edge1 is stopped');
    await ask(one, { action: 'start' });
    await one.world.until(() => one.engine.isReady('web-edge1'));
    expect(uidOf(one.engine)).toBe(uid);
  });

  test('a kill of the agent while it stops the pod does not undo the stop', async () => {
    let one = await running();
    const release = one.world.runtime.hang('stopContainer');
    await ask(one, { action: 'stop' });
    await one.world.until(() => one.world.runtime.calls.some(({ method }) => method === 'stopContainer'));
    one = await reboot(one, revision('1'));
    release();
    await one.world.until(() => one.world.runtime.running().length === 0);
    await one.world.pass(60_000);
    expect(one.world.runtime.running()).toEqual([]);
  });

  const volumeMounts = [{ name: 'data', mountPath: '/data' }];

  /** A pod with an emptyDir, and a file in it. */
  async function runningWithFile(
    more: Partial<RawPod['spec']> = {},
  ): Promise<{ one: Running; first: Pod; path: string }> {
    const first = revision('1', {
      containers: [{ name: 'main', image: 'app:1', env: [{ name: 'REVISION', value: '1' }], volumeMounts }],
      volumes: [{ name: 'data', emptyDir: {} }],
      ...more,
    });
    const one = await running(first);
    const path = join(one.world.rootDir, 'pods', first.metadata.uid, 'volumes/kubernetes.io~empty-dir/data');
    await writeFile(join(path, 'file'), 'data');
    return { one, first, path };
  }

  describe.each(['at once', 'later', 'after a restart of the agent'])('what is stopped, and started %s,', (when) => {
    test.each([
      ['a pod: it keeps its volumes', {}, { files: ['file'], running: ['web-edge1/main#1'] }],
      [
        'a job: it begins anew, without its data',
        { restartPolicy: 'Never' },
        { files: [], running: ['web-edge1/main#0'] },
      ],
      [
        'a pod with a container that may end: it begins anew',
        { containers: [{ name: 'main', image: 'app:1', restartPolicy: 'Never', volumeMounts }] },
        { files: [], running: ['web-edge1/main#0'] },
      ],
    ])('is %s', async (_title, spec, expected) => {
      const { one, first, path } = await runningWithFile(spec);
      one.world.runtime.script('main', { stopAfterMs: 5000 });
      await ask(one, { action: 'stop' });
      if (when !== 'at once') await one.world.pass(60_000);
      const next = when === 'after a restart of the agent' ? await reboot(one, first) : one;
      await next.world.until(() => next.engine.pod('web-edge1')?.pod.status?.reason === 'Stopped');
      await ask(next, { action: 'start' });
      await next.world.until(() => next.engine.isReady('web-edge1') && next.engine.phase('web-edge1') === 'Running');
      await next.world.pass(10_000);
      expect({ files: await readdir(path), running: next.world.runtime.running() }).toEqual(expected);
    });
  });

  test('a stopped pod leaves no volumes when its manifest is removed', async () => {
    const { one, path } = await runningWithFile();
    await ask(one, { action: 'stop' });
    await one.world.pass(10_000);
    expect(existsSync(path)).toBe(true);
    one.source.setDerived();
    await one.world.pass(10_000);
    expect({ exists: existsSync(path), left: await one.world.inventory() }).toEqual({ exists: false, left: [] });
  });

  test('a change of its manifest is taken, and runs after the start', async () => {
    const one = await running();
    await ask(one, { action: 'stop' });
    await one.world.until(() => one.world.runtime.running().length === 0);
    one.source.setDerived(revision('2'));
    await one.world.pass(30_000);
    expect(one.world.runtime.running()).toEqual([]);
    await ask(one, { action: 'start' });
    await runs(one, '2');
  });
});

test('retry starts a crashed container at once', async () => {
  const one = await running();
  for (let count = 0; count < 4; count += 1) {
    const before = one.world.runtime.running();
    one.world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    if (count < 3) await one.world.until(() => one.world.runtime.running().some((name) => !before.includes(name)));
  }
  await one.world.until(() => one.engine.waitingReason('web-edge1', 'main') === 'CrashLoopBackOff');
  const before = one.world.clock.monotonic();
  await ask(one, { action: 'retry' });
  await one.world.until(() => one.world.runtime.running().length === 1);
  expect(one.world.clock.monotonic() - before).toBeLessThan(2000);
});

describe('hold', () => {
  test.each(eachRebooted)('keeps the revision over changes and a restart of %s, until unhold', async (what) => {
    let one = await running();
    await ask(one, { action: 'hold' });
    one.source.setDerived(revision('2'));
    await one.world.pass(10_000);
    expect([envOf(one.engine), updateOf(one.engine)]).toEqual(['1', 'Held']);
    one = await reboot(one, revision('2'), what);
    await runs(one, '1');
    expect(one.world.runtime.running()).toEqual([`web-edge1/main#${what === 'the machine' ? 1 : 0}`]);
    expect(updateOf(one.engine)).toBe('Held');
    await ask(one, { action: 'unhold' });
    await runs(one, '2');
    expect(updateOf(one.engine)).toBeUndefined();
  });
});

describe('rollback', () => {
  test.each(eachRebooted)('of a Ready revision outlives %s, until the manifest changes', async (what) => {
    let one = await running();
    one.source.setDerived(revision('2'));
    await runs(one, '2');
    await one.world.pass(3000);
    expect(await ask(one, { action: 'rollback' })).toBe(
      'pod/web-edge1 rolled back to revision 1 until its manifest changes, or kubelet-ts unhold',
    );
    await runs(one, '1');
    one = await reboot(one, revision('2'), what);
    await runs(one, '1');
    expect(updateOf(one.engine)).toBe('RolledBack');
    one.source.setDerived(revision('3'));
    await runs(one, '3');
    expect(one.engine.kubelet.pastRevisions(web).map(({ revision: number, isCurrent }) => [number, isCurrent])).toEqual(
      [
        [1, false],
        [2, false],
        [3, true],
      ],
    );
  });

  test('comes by itself if a new revision is not Ready within its deadline', async () => {
    // The first revision became Ready a moment ago.
    const one = await running();
    const annotations = { 'kubelet-ts.io/progress-deadline': '30s' };
    const late = revision('2', { annotations, initContainers: [{ name: 'init', image: 'app:1', command: ['wait'] }] });
    one.source.setDerived(late);
    await one.world.until(() => envOf(one.engine) === '2');
    await runs(one, '1');
    expect(one.engine.messages('RolledBack')).toEqual(['revision 2 was not Ready within 30s; revision 1 runs again']);
  });

  test('does not come for a job that completed within its deadline, before its first readiness probe', async () => {
    const world = await World.make();
    world.runtime.addImage('app:1');
    world.runtime.script('main', { exitAfterMs: 1000 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const one = { world, engine, source };
    const annotations = { 'kubelet-ts.io/progress-deadline': '30s' };
    for (const env of ['1', '2']) {
      const job = revision(env, { annotations, restartPolicy: 'Never' });
      for (const container of job.spec.containers) {
        container.readinessProbe = { exec: { command: ['true'] }, initialDelaySeconds: 20 };
      }
      source.setDerived(job);
      await world.until(() => envOf(engine) === env && engine.pod('web-edge1')?.pod.status?.phase === 'Succeeded');
      await world.pass(3000);
    }
    await world.leap(60_000);
    expect([envOf(engine), updateOf(engine), engine.messages('RolledBack')]).toEqual(['2', undefined, []]);
    expect(engine.kubelet.pastRevisions(web).map(({ wasReady }) => wasReady)).toEqual([true, true]);
    expect(await ask(one, { action: 'rollback' })).toBe(
      'pod/web-edge1 rolled back to revision 1 until its manifest changes, or kubelet-ts unhold',
    );
  });
});

test('an update waits while its window is closed, also after a restart', async () => {
  let one = await running();
  const now = new Date(one.world.clock.now());
  const hour = (shift: number): string => `${String((now.getHours() + shift) % 24).padStart(2, '0')}:00`;
  const next = revision('2', { annotations: { 'kubelet-ts.io/update-window': `${hour(1)}-${hour(2)}` } });
  one.source.setDerived(next);
  await one.world.pass(5000);
  expect([envOf(one.engine), updateOf(one.engine)]).toEqual(['1', 'UpdateWindow']);
  one = await reboot(one, next);
  await runs(one, '1');
  await one.world.leap(60 * 60_000);
  await runs(one, '2');
});

test('a record that cannot be read is set aside', async () => {
  const one = await running();
  await ask(one, { action: 'hold' });
  const folder = join(one.world.rootDir, 'state', 'operations');
  const [file = ''] = await readdir(folder);
  one.engine.crash();
  await writeFile(join(folder, file), '{"version":2}');
  const next = await reboot(one, revision('2'));
  await runs(next, '2');
  await one.world.pass(3000);
  expect((await readdir(folder)).sort()).toEqual([file, `${file}.malformed`]);
});
