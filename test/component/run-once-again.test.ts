import { expect, test } from 'vitest';
import { type ContainerResult, podResult } from '../../src/node/run-once/pod-result.ts';
import type { PodOutcome } from '../../src/node/run-once/run-once-outcome.ts';
import { RunView } from '../../src/node/run-once/run-view.ts';
import { decideOutcomes } from '../../src/node/run-once/decide-outcomes.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const service = makeStaticPod('web');
const main = { pod: 'web-edge1', container: 'main' };

/** A world with a service that an earlier run left. */
async function afterEarlierRun(): Promise<World> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(service);
  await world.until(() => engine.isReady('web-edge1'));
  await engine.kill();
  return world;
}

/** Runs the service again. Resolves to its result. `meanwhile` is called when it runs. */
async function runAgain(world: World, meanwhile: () => void = () => undefined) {
  const source = new ManualSource();
  const { kubelet } = await world.boot({ sources: [source] });
  const view = new RunView(kubelet);
  const isRunning = (): boolean =>
    kubelet.snapshot().pods[0]?.pod.status?.containerStatuses?.[0]?.state?.running !== undefined;
  const end = {
    until: 'auto',
    decider: undefined,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    clock: world.clock,
  } as const;
  let outcome: PodOutcome | undefined;
  const run = decideOutcomes(view, [service], end).then((outcomes) => {
    outcome = outcomes.get(service.metadata.uid);
  });
  source.set(service);
  await world.until(() => isRunning() || outcome !== undefined);
  meanwhile();
  await world.until(() => outcome !== undefined);
  await run;
  const pod = view.snapshot().pods[0]?.pod;
  if (pod === undefined || outcome === undefined) throw new Error('the run has no result');
  const { podLogsDir } = makeNodeConfig(world.folder);
  const { containers, ...result } = await podResult(pod, outcome, { podLogsDir, allLogs: false });
  const known = ({ name, state, exitCode }: ContainerResult) => ({ name, state, exitCode });
  return { ...result, containers: containers.map(known) };
}

const ready = {
  pod: 'default/web-edge1',
  outcome: 'ready',
  exitCode: 0,
  message: '',
  containers: [{ name: 'main', state: 'running', exitCode: undefined }],
};

const failed = {
  pod: 'default/web-edge1',
  outcome: 'failed',
  exitCode: 3,
  message: 'container main exited with code 3',
  container: 'main',
  containers: [{ name: 'main', state: 'ended', exitCode: 3 }],
};

/** How the service ends while no agent runs. */
const crash = (world: World): void => {
  world.runtime.exitContainer(main, 255);
};
const reboot = (world: World): void => {
  world.runtime.killSandbox('web-edge1');
};

test.each([
  ['crashed', crash],
  ['ended at a reboot', reboot],
])('a service that %s while no agent ran becomes Ready at its next start', async (_how, end) => {
  const world = await afterEarlierRun();
  end(world);
  expect(await runAgain(world)).toEqual(ready);
});

test('a service that still runs becomes Ready, also if the clock was set back', async () => {
  const world = await afterEarlierRun();
  world.clock.setWallClock(0);
  expect(await runAgain(world)).toEqual(ready);
});

test.each([
  ['ended before, and was started again,', crash],
  ['still ran', () => undefined],
])('a service that %s fails if it ends in this run', async (_how, end) => {
  const world = await afterEarlierRun();
  end(world);
  const result = await runAgain(world, () => {
    world.runtime.exitContainer(main, 3);
  });
  expect(result).toEqual(failed);
});
