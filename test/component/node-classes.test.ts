import { expect, test } from 'vitest';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makePriorityClass, makeRuntimeClass } from '../builders/node-classes.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** Boots an engine with a source of pods and one of classes, neither of which was read. */
async function boot(): Promise<{ world: World; engine: Engine; pods: ManualSource; classes: ManualSource }> {
  const world = await World.make();
  const pods = new ManualSource();
  const classes = new ManualSource('http', '<classes>');
  return { world, pods, classes, engine: await world.boot({ sources: [pods, classes] }) };
}

const pod = makeStaticPod('web', { uid: 'u1', spec: { runtimeClassName: 'sandboxed' } });

const handlers = (world: World): string[] =>
  world.runtime.requestsOf('runPodSandbox').map(({ runtimeHandler }) => runtimeHandler);

const specOf = (engine: Engine) => engine.kubelet.snapshot().pods[0]?.pod.spec;

test('a pod waits for its class, with the reason, and starts at once when the class comes', async () => {
  const { world, engine, pods, classes } = await boot();
  classes.set();
  pods.set(pod);
  await world.until(() => engine.messages('UnknownClass').length > 0);
  expect(engine.messages('UnknownClass')).toEqual([
    'spec.runtimeClassName: no manifest declares RuntimeClass "sandboxed"',
  ]);
  expect(engine.kubelet.snapshot().sources[0]?.problems).toEqual([
    {
      origin: '<file>',
      field: 'spec.runtimeClassName',
      message: 'no manifest declares RuntimeClass "sandboxed"',
      hint: 'Declare it with the pod, as a document of kind RuntimeClass. Until then, the pod waits.',
      severity: 'error',
    },
  ]);
  expect(world.runtime.running()).toEqual([]);

  const came = world.clock.now();
  classes.setConfigObjects(makeRuntimeClass('sandboxed'));
  await world.until(() => engine.isReady('web-edge1'));
  expect(world.clock.now() - came).toBeLessThan(2000);
  expect(handlers(world)).toEqual(['runsc']);
  expect(engine.kubelet.snapshot().sources[0]?.problems).toEqual([]);
});

test('a pod that contradicts its class waits, with the reason', async () => {
  const { world, engine, pods, classes } = await boot();
  classes.set();
  classes.setConfigObjects(makePriorityClass('high', 9));
  pods.set(makeStaticPod('web', { uid: 'u1', spec: { priorityClassName: 'high', priority: 1 } }));
  await world.until(() => engine.messages('ClassConflict').length > 0);
  expect(engine.messages('ClassConflict')).toEqual([
    'spec.priorityClassName: spec.priority is 1, but PriorityClass "high" has the value 9',
  ]);
  expect(engine.pod('web-edge1')?.pod.status?.reason).toBe('ClassConflict');
  expect(world.runtime.running()).toEqual([]);
});

test('the overhead of a class is that of its pods', async () => {
  const { world, engine, pods, classes } = await boot();
  classes.set();
  classes.setConfigObjects(makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' } }), makePriorityClass('high', 9));
  pods.set(makeStaticPod('web', { uid: 'u1', spec: { runtimeClassName: 'sandboxed', priorityClassName: 'high' } }));
  await world.until(() => engine.isReady('web-edge1'));
  expect(specOf(engine)).toMatchObject({ overhead: { cpu: '100m' }, priority: 9 });
  expect(world.runtime.requestsOf('runPodSandbox')[0]?.config?.linux?.overhead?.cpuShares).toBe(102n);
});

test('a class of the configuration needs no document, and no document replaces it', async () => {
  const world = await World.make();
  const pods = new ManualSource();
  const runtimeClasses = [makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' } })];
  const node = { ...makeNodeConfig(world.folder), runtimeClasses };
  const classes = new ManualSource('http', '<classes>');
  const engine = await world.boot({ sources: [pods, classes], node });
  classes.setConfigObjects(makeRuntimeClass('sandboxed', { handler: 'kata' }));
  classes.set();
  pods.set(pod);
  await world.until(() => engine.isReady('web-edge1'));
  expect(specOf(engine)?.overhead).toEqual({ cpu: '100m' });
  expect(handlers(world)).toEqual(['runsc']);
});

test('a running pod keeps its class when the class changes or goes', async () => {
  const { world, engine, pods, classes } = await boot();
  classes.set();
  classes.setConfigObjects(makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' } }));
  pods.set(pod);
  await world.until(() => engine.isReady('web-edge1'));

  classes.setConfigObjects(makeRuntimeClass('sandboxed', { overhead: { cpu: '200m' }, handler: 'kata' }));
  await world.pass(60_000);
  classes.setConfigObjects();
  await world.pass(60_000);
  expect(specOf(engine)?.overhead).toEqual({ cpu: '100m' });
  expect(handlers(world)).toEqual(['runsc']);
  expect(engine.isReady('web-edge1')).toBe(true);
  expect(engine.kubelet.snapshot().sources[0]?.problems).toEqual([]);
});

test('a pod runs on if its class is read after it at the next start, or never', async () => {
  const { world, engine, pods, classes } = await boot();
  classes.set();
  classes.setConfigObjects(makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' } }));
  pods.set(pod);
  await world.until(() => engine.isReady('web-edge1'));
  await engine.kill();

  const [podsAgain, classesAgain] = [new ManualSource(), new ManualSource('http', '<classes>')];
  const next = await world.boot({ sources: [podsAgain, classesAgain] });
  podsAgain.set(pod);
  await world.pass(60_000);
  expect(world.runtime.running()).toHaveLength(1);
  classesAgain.set();
  classesAgain.setConfigObjects(makeRuntimeClass('sandboxed', { overhead: { cpu: '100m' } }));
  await world.pass(60_000);
  expect(next.isReady('web-edge1')).toBe(true);
  expect(specOf(next)?.overhead).toEqual({ cpu: '100m' });
  expect(handlers(world)).toEqual(['runsc']);
  expect(world.runtime.requestsOf('createContainer')).toHaveLength(1);
});
