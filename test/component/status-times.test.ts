import type { Container } from 'kubernetes-types/core/v1.js';
import type { Pod } from '../../src/api/types.ts';
import { describe, expect, test } from 'vitest';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';
const dayMs = 86_400_000;
const exec = { command: ['true'] };

async function running(
  spec: Partial<Pod['spec']> = {},
): Promise<{ world: World; engine: Engine; reboot: () => Promise<Engine> }> {
  const world = await World.make();
  const source = (): ManualSource => {
    const manual = new ManualSource();
    manual.set(makeStaticPod('web', { spec }));
    return manual;
  };
  const engine = await world.boot({ sources: [source()] });
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, reboot: () => world.boot({ sources: [source()] }) };
}

/** Start and transition times in the status of the pod. */
function times(engine: Engine): object {
  const { startTime, conditions = [], containerStatuses = [] } = engine.pod('web-edge1')?.pod.status ?? {};
  return {
    startTime,
    conditions: conditions.map(({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime]),
    containers: containerStatuses.map(({ state }) => state?.running?.startedAt),
  };
}

/** Every readiness that the engine reported. */
function seenReadiness(engine: Engine): boolean[] {
  return engine.events.events.flatMap((event) => (event.type === 'PodStatusChanged' ? [event.ready] : []));
}

const stopCalls = (world: World): number => world.runtime.requestsOf('stopContainer').length;

describe('a deadline', () => {
  test('is noticed when it is over, not at the next periodic sync', async () => {
    const { world, engine } = await running({ activeDeadlineSeconds: 14 });
    await world.until(() => stopCalls(world) > 0);
    const ranMs = world.clock.monotonic();
    expect(ranMs).toBeGreaterThanOrEqual(14_000);
    expect(ranMs).toBeLessThan(15_000);
    await world.until(() => engine.phase('web-edge1') === 'Failed');
    expect(engine.pod('web-edge1')?.pod.status?.reason).toBe('DeadlineExceeded');
  });

  test.each([
    ['stays as it is', 0, 'before'],
    ['is set a day forward', dayMs, 'before'],
    ['is set a day back', -dayMs, 'before'],
    ['is set a day forward', dayMs, 'during'],
    ['is set a day back', -dayMs, 'during'],
    ['is set a day forward', dayMs, 'after'],
    ['is set a day back', -dayMs, 'after'],
  ])('is the same after a restart of the agent, when the clock %s (%d ms) %s it', async (_what, byMs, when) => {
    const { world, engine, reboot } = await running({ activeDeadlineSeconds: 100 });
    const setClock = (moment: string): void => {
      if (moment === when) world.clock.setWallClock(world.clock.now() + byMs);
    };
    await world.pass(5000);
    setClock('before');
    await world.pass(5000);
    await engine.kill();
    setClock('during');
    await world.pass(10_000);
    await reboot();
    await world.pass(10_000);
    setClock('after');
    await world.until(() => stopCalls(world) > 0);
    const ranMs = world.clock.monotonic();
    expect(ranMs).toBeGreaterThanOrEqual(100_000);
    expect(ranMs).toBeLessThan(102_000);
  });
});

describe('a job that starts over', () => {
  const requesting = (cpu: string): Pod['spec'] => ({
    containers: [{ name: 'main', image, resources: { requests: { cpu } } }],
  });
  const lasting = { activeDeadlineSeconds: 100, restartPolicy: 'Never' } as const;
  const unready = makeStaticPod('other', {
    spec: { containers: [{ name: 'main', image, readinessProbe: { exec, periodSeconds: 1 } }] },
  });
  test.each([
    {
      why: 'is refused first',
      job: makeStaticPod('web', { spec: { ...lasting, ...requesting('1500m') } }),
      other: makeStaticPod('other', { spec: requesting('1') }),
    },
    {
      why: 'waits for another pod first',
      job: makeStaticPod('web', { annotations: { [dependsOnAnnotation]: 'other' }, spec: lasting }),
      other: unready,
    },
  ])('and $why has its whole deadline', async ({ job, other }) => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const operate = async (action: 'stop' | 'start'): Promise<void> => {
      const asked = engine.kubelet.operate({ action, pod: { namespace: 'default', name: 'web-edge1' } });
      await world.pass(2000);
      await asked;
    };
    source.set(...(other === unready ? [job, other] : [job]));
    await world.until(() => engine.isReady('web-edge1'));
    await world.pass(50_000);
    await operate('stop');
    world.runtime.scriptExec(() => ({ exitCode: 1 }));
    source.set(job, other);
    await world.pass(60_000);
    await operate('start');
    const { startTime: startTimeOfWait } = engine.pod('web-edge1')?.pod.status ?? {};
    world.runtime.scriptExec(() => ({ exitCode: 0 }));
    source.set(...(other === unready ? [job, other] : [job]));
    await world.until(() => engine.isReady('web-edge1'));
    const startedAt = world.clock.monotonic();
    await world.until(() => engine.phase('web-edge1') === 'Failed');
    expect({
      startTimeOfWait,
      reason: engine.pod('web-edge1')?.pod.status?.reason,
      seconds: Math.round((world.clock.monotonic() - startedAt) / 1000),
    }).toEqual({ startTimeOfWait: undefined, reason: 'DeadlineExceeded', seconds: 100 });
  });
});

describe('after a restart of the agent', () => {
  const probed: Container[] = [
    {
      name: 'main',
      image,
      readinessProbe: { exec, periodSeconds: 10, failureThreshold: 3 },
      startupProbe: { exec, periodSeconds: 1 },
    },
  ];
  test.each([
    ['without probes', [{ name: 'main', image }], 'kill'],
    ['with probes', probed, 'kill'],
    ['with probes, killed', probed, 'crash'],
  ] as const)('a pod %s is what it was for as long as it was', async (_what, containers, how) => {
    const { world, engine, reboot } = await running({ containers: [...containers] });
    await world.pass(60_000);
    const before = times(engine);
    if (how === 'kill') await engine.kill();
    else engine.crash();
    await world.pass(100_000);
    const next = await reboot();
    await world.until(() => next.isReady('web-edge1'));
    await world.pass(60_000);
    expect(times(next)).toEqual(before);
    expect(seenReadiness(next)).not.toContain(false);
  });

  test('a pod of which nothing was kept has been there since its sandbox was made', async () => {
    const { world, engine, reboot } = await running();
    const { startTime } = engine.pod('web-edge1')?.pod.status ?? {};
    // Too early for a write to the disk.
    engine.crash();
    await world.pass(60_000);
    const next = await reboot();
    await world.until(() => next.isReady('web-edge1'));
    expect(next.pod('web-edge1')?.pod.status?.startTime).toBe(startTime);
  });

  test.each([false, true])('a reboot keeps the age of a pod that the runtime lost: %s', async (forgets) => {
    const { world, engine, reboot } = await running();
    const { startTime } = engine.pod('web-edge1')?.pod.status ?? {};
    await world.pass(60_000);
    await engine.kill();
    world.runtime.reboot({ forgets });
    await world.pass(60_000);
    const next = await reboot();
    await world.until(() => next.isReady('web-edge1'));
    expect(next.pod('web-edge1')?.pod.status?.startTime).toBe(startTime);
  });

  test('a container that is not ready any more is found out by its probe', async () => {
    const { world, engine, reboot } = await running({ containers: probed });
    await world.pass(10_000);
    await engine.kill();
    world.runtime.scriptExec(() => ({ exitCode: 1 }));
    const next = await reboot();
    await world.until(() => next.isReady('web-edge1'));
    await world.until(() => !next.isReady('web-edge1'));
    expect(next.messages('Unhealthy').length).toBeGreaterThanOrEqual(3);
  });
});

test('a pod that was removed starts again under the same UID', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const pod = makeStaticPod('web');
  source.set(pod);
  await world.until(() => engine.isReady('web-edge1'));
  await world.pass(60_000);
  const { startTime = '' } = engine.pod('web-edge1')?.pod.status ?? {};
  source.set();
  await world.until(() => engine.pod('web-edge1') === undefined);
  source.set(pod);
  await world.until(() => engine.isReady('web-edge1'));
  const { startTime: next = '' } = engine.pod('web-edge1')?.pod.status ?? {};
  expect(Date.parse(next) - Date.parse(startTime)).toBeGreaterThanOrEqual(60_000);
});
