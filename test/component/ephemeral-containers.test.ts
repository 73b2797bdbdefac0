import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const web = { namespace: 'default', name: 'web-edge1' };

function declared(more: Partial<Pod['spec']> = {}): Pod {
  return makeStaticPod('web', { spec: { containers: [{ name: 'main', image: 'app:1' }], ...more } });
}

interface Running {
  world: World;
  engine: Engine;
  source: ManualSource;
}

async function running(pod = declared()): Promise<Running> {
  const world = await World.make();
  world.runtime.addImage('app:1');
  world.runtime.addImage('tools:1');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(pod);
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, source };
}

/** Ends the agent like SIGKILL, and starts the next one. */
async function reboot({ world, engine }: Running, pod = declared()): Promise<Running> {
  engine.crash();
  const source = new ManualSource();
  const next = { world, source, engine: await world.boot({ sources: [source] }) };
  source.set(pod);
  await world.until(() => next.engine.isReady('web-edge1'));
  return next;
}

/** Lets time pass until the promise is settled. */
async function done<T>(world: World, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  promise.then(
    () => (isSettled = true),
    () => (isSettled = true),
  );
  await world.until(() => isSettled);
  return promise;
}

function debug({ world, engine }: Running, container: object, removesAtEnd = false): Promise<string> {
  const request = { json: JSON.stringify({ name: 'debugger', image: 'tools:1', ...container }), removesAtEnd };
  return done(world, engine.kubelet.addEphemeralContainer(web, request));
}

const statusOf = ({ engine }: Running, name = 'debugger'): ContainerStatus | undefined =>
  engine.pod('web-edge1')?.pod.status?.ephemeralContainerStatuses?.find((status) => status.name === name);
const namesOf = ({ engine }: Running): string[] | undefined =>
  engine.pod('web-edge1')?.pod.spec.ephemeralContainers?.map(({ name }) => name);
const untilRunning = (one: Running): Promise<void> =>
  one.world.until(() => statusOf(one)?.state?.running !== undefined);
const created = ({ world }: Running, name = 'debugger') =>
  world.runtime.calls.flatMap((call) =>
    call.method === 'createContainer' && 'config' in call.request && call.request.config?.metadata?.name === name
      ? [call.request.config]
      : [],
  );

describe('an ephemeral container', () => {
  test('starts in the running pod, which stays as it is', async () => {
    const one = await running();
    const before = one.engine.pod('web-edge1')?.pod.status?.containerStatuses;
    expect(await debug(one, { command: ['sleep', '9'], stdin: true })).toBe('debugger');
    await untilRunning(one);
    expect(one.world.runtime.running()).toEqual(['web-edge1/debugger#0', 'web-edge1/main#0']);
    expect(one.engine.pod('web-edge1')?.pod.status?.containerStatuses).toEqual(before);
    expect(created(one)).toMatchObject([
      { command: ['sleep', '9'], stdin: true, linux: { securityContext: { namespaceOptions: { pid: 'CONTAINER' } } } },
    ]);
  });

  test('with a target gets its process namespace', async () => {
    const one = await running();
    await debug(one, { targetContainerName: 'main' });
    await untilRunning(one);
    const [main = ''] =
      one.engine.pod('web-edge1')?.pod.status?.containerStatuses?.map((s) => s.containerID ?? '') ?? [];
    expect(created(one)[0]?.linux?.securityContext?.namespaceOptions).toMatchObject({
      pid: 'TARGET',
      targetId: main.replace('fake://', ''),
    });
  });

  test('never starts again, even if the runtime loses it', async () => {
    let one = await running();
    await debug(one, {});
    await untilRunning(one);
    one.world.runtime.exitContainer({ pod: 'web-edge1', container: 'debugger' }, 3);
    await one.world.until(() => statusOf(one)?.state?.terminated?.exitCode === 3);
    one = await reboot(one);
    await one.world.pass(120_000);
    expect([one.world.runtime.running(), created(one).length]).toEqual([['web-edge1/main#0'], 1]);
    expect(one.engine.isReady('web-edge1')).toBe(true);
    const id = statusOf(one)?.containerID?.replace(/.*:\/\//, '') ?? '';
    await one.world.runtime.removeContainer({ containerId: id });
    await one.world.pass(180_000);
    expect([one.world.runtime.running(), created(one).length, namesOf(one)]).toEqual([
      ['web-edge1/main#0'],
      1,
      undefined,
    ]);
  });

  test('starts before the init containers of its pod are done', async () => {
    const world = await World.make();
    for (const image of ['app:1', 'tools:1']) world.runtime.addImage(image);
    const source = new ManualSource();
    const one = { world, source, engine: await world.boot({ sources: [source] }) };
    source.set(declared({ initContainers: [{ name: 'init', image: 'app:1' }] }));
    await world.until(() => world.runtime.running().includes('web-edge1/init#0'));
    await debug(one, {});
    await untilRunning(one);
    expect(world.runtime.running()).toEqual(['web-edge1/debugger#0', 'web-edge1/init#0']);
  });

  test('whose image is missing waits with the reason, and its pod stays Ready', async () => {
    const one = await running();
    await debug(one, { image: 'absent:1', imagePullPolicy: 'Never' });
    await one.world.until(() => statusOf(one)?.state?.waiting?.reason === 'ErrImageNeverPull');
    expect(one.engine.isReady('web-edge1')).toBe(true);
    await done(one.world, one.engine.kubelet.removeEphemeralContainer(web, 'debugger'));
    await one.world.until(() => namesOf(one) === undefined);
  });

  test('goes with its pod, and is not in the next one', async () => {
    const one = await running();
    await debug(one, {});
    await untilRunning(one);
    one.source.set();
    await one.world.until(() => one.world.runtime.running().length === 0 && one.engine.pod('web-edge1') === undefined);
    one.source.set(declared());
    await one.world.until(() => one.engine.isReady('web-edge1'));
    await one.world.pass(60_000);
    expect([one.world.runtime.running(), namesOf(one)]).toEqual([['web-edge1/main#0'], undefined]);
  });

  test('does not keep a pod that has completed', async () => {
    const one = await running(declared({ restartPolicy: 'Never' }));
    await debug(one, {});
    await untilRunning(one);
    one.world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 0);
    await one.world.until(() => one.engine.phase('web-edge1') === 'Succeeded');
    await one.world.until(() => one.world.runtime.running().length === 0);
    await expect(debug(one, { name: 'late' })).rejects.toThrow('pod web-edge1 has ended');
  });
});

describe('a request is refused', () => {
  test.each([
    ['for a second container of the same name', { name: 'main' }, 'pod web-edge1 has a container main already'],
    ['for a target that the pod lacks', { targetContainerName: 'mian' }, 'targetContainerName: Not found: "mian"'],
    ['without an image', { image: '' }, 'image: Required value: must be set'],
    ['with a bad name', { name: 'A_b' }, 'name: Invalid value'],
    ['with a probe', { livenessProbe: { exec: { command: ['true'] } } }, 'livenessProbe: Forbidden: cannot be set'],
    ['with an unknown field', { comand: ['sh'] }, 'comand: Unknown field "comand"'],
    ['with a field of another type', { command: 'sh' }, 'command: '],
  ])('%s', async (_what, container, message) => {
    const one = await running();
    await expect(debug(one, container)).rejects.toThrow(message);
    expect(namesOf(one)).toBeUndefined();
  });

  test('for a pod that is stopped, and for one that nothing declares', async () => {
    const one = await running();
    await done(one.world, one.engine.kubelet.operate({ action: 'stop', pod: web }));
    await expect(debug(one, {})).rejects.toThrow('pod web-edge1 is stopped');
    const gone = one.engine.kubelet.addEphemeralContainer(
      { ...web, name: 'gone' },
      { json: '{}', removesAtEnd: false },
    );
    await expect(done(one.world, gone)).rejects.toThrow('no manifest declares pod default/gone');
  });

  test('for a pod that has not started, and for one that is terminating', async () => {
    const one = await running(declared({ terminationGracePeriodSeconds: 600 }));
    const { world, source } = one;
    const late = makeStaticPod('late', {
      spec: { containers: [{ name: 'main', image: 'app:1' }], priorityClassName: 'nobody-declares-it' },
    });
    source.set(declared({ terminationGracePeriodSeconds: 600 }), late);
    await world.until(() => one.engine.pod('late-edge1')?.worker.state === 'waiting');
    const json = JSON.stringify({ name: 'debugger', image: 'tools:1' });
    const refused = one.engine.kubelet.addEphemeralContainer(
      { namespace: 'default', name: 'late-edge1' },
      { json, removesAtEnd: false },
    );
    await expect(done(world, refused)).rejects.toThrow('pod late-edge1 has not started');
    world.runtime.hang('stopContainer');
    await done(world, one.engine.kubelet.operate({ action: 'stop', pod: web }));
    await done(world, one.engine.kubelet.operate({ action: 'start', pod: web }));
    await world.until(() => one.engine.pod('web-edge1')?.worker.state === 'terminating');
    await expect(debug(one, {})).rejects.toThrow('pod web-edge1 is terminating');
  });

  test('for the removal of a container of the manifest', async () => {
    const one = await running();
    const refused = done(one.world, one.engine.kubelet.removeEphemeralContainer(web, 'main'));
    await expect(refused).rejects.toThrow('pod web-edge1 has no ephemeral container main');
  });
});

describe('a removal', () => {
  test('ends the container, and frees its name', async () => {
    const one = await running();
    await debug(one, {});
    await untilRunning(one);
    const message = await done(one.world, one.engine.kubelet.removeEphemeralContainer(web, 'debugger'));
    expect(message).toBe('container debugger of pod web-edge1 is removed');
    await one.world.until(() => namesOf(one) === undefined && one.world.runtime.running().length === 1);
    expect(await one.world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
    await debug(one, {});
    await untilRunning(one);
  });

  test('comes by itself ten seconds after the end, if that was asked', async () => {
    const one = await running();
    await debug(one, {}, true);
    await untilRunning(one);
    await one.world.pass(30_000);
    one.world.runtime.exitContainer({ pod: 'web-edge1', container: 'debugger' }, 0);
    await one.world.until(() => statusOf(one)?.state?.terminated !== undefined);
    await one.world.pass(8_000);
    expect(statusOf(one)?.state?.terminated?.exitCode).toBe(0);
    await one.world.pass(2_000);
    expect(await one.world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
    expect(namesOf(one)).toBeUndefined();
  });
});

describe('a kill of the agent', () => {
  test.each(['createContainer', 'startContainer'] as const)(
    'before and after %s leaves exactly one container that runs',
    async (step) => {
      for (const when of ['before', 'after'] as const) {
        let one = await running();
        const isDebugger = (): number => one.world.runtime.calls.filter(({ method }) => method === step).length - 1;
        const release = when === 'before' ? one.world.runtime.hang(step) : undefined;
        await debug(one, {});
        await one.world.until(() => isDebugger() > 0);
        one = await reboot(one);
        release?.();
        await untilRunning(one);
        await one.world.pass(60_000);
        const [debuggers, ...others] = one.world.runtime.running();
        expect([step, when, debuggers, others]).toEqual([
          step,
          when,
          expect.stringMatching(/^web-edge1\/debugger#[01]$/),
          ['web-edge1/main#0'],
        ]);
      }
    },
  );

  test.each(['stopContainer', 'removeContainer'] as const)('at %s does not undo the removal', async (step) => {
    for (const when of ['before', 'after'] as const) {
      let one = await running();
      await debug(one, {});
      await untilRunning(one);
      const release = when === 'before' ? one.world.runtime.hang(step) : undefined;
      await done(one.world, one.engine.kubelet.removeEphemeralContainer(web, 'debugger'));
      await one.world.until(() => one.world.runtime.calls.some(({ method }) => method === step));
      one = await reboot(one);
      release?.();
      await one.world.until(async () => (await one.world.inventory()).length === 2);
      await one.world.pass(60_000);
      expect([step, when, namesOf(one), await one.world.inventory()]).toEqual([
        step,
        when,
        undefined,
        ['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING'],
      ]);
    }
  });

  test('keeps the container and its status', async () => {
    let one = await running();
    await debug(one, { targetContainerName: 'main' });
    await untilRunning(one);
    const id = statusOf(one)?.containerID;
    one = await reboot(one);
    await untilRunning(one);
    expect([statusOf(one)?.containerID, created(one).length]).toEqual([id, 1]);
    await expect(debug(one, {})).rejects.toThrow('has a container debugger already');
  });
});

test('a list that cannot be read is set aside', async () => {
  let one = await running();
  await debug(one, {});
  await untilRunning(one);
  const folder = join(one.world.rootDir, 'pods', one.engine.pod('web-edge1')?.pod.metadata.uid ?? '');
  one.engine.crash();
  await writeFile(join(folder, 'ephemeral-containers.json'), '{"version":2}');
  one = await reboot(one);
  expect(namesOf(one)).toBeUndefined();
  expect(await readdir(folder)).toContain('ephemeral-containers.json.malformed');
});
