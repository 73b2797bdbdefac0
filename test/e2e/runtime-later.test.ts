import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { ManagedContainerd } from '../../src/containerd/managed-containerd.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { Agent } from './agent.ts';
import { freePorts } from './free-ports.ts';
import { makePod, shell } from './manifests.ts';

let agent: Agent;
let healthz: string;
/** Why the runtime is no good yet, as commands say it. */
let reason: string;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  healthz = `http://127.0.0.1:${port}/healthz`;
  const flags = ['--healthz-port', `${port}`];
  agent = await Agent.create({ flags });
  const { endpoint } = managedPaths(agent.rootDir);
  flags.push('--container-runtime-endpoint', endpoint);
  reason = `The container runtime endpoint ${endpoint} does not exist`;
});
afterAll(() => agent.cleanUp());

const web = makePod('web', { containers: [shell('web', 'exec sleep 3600')] });

/** Starts the agent on its runtime that is not there; the result is its start. */
async function startWaiting(): Promise<{ isUp: Promise<void> }> {
  const since = agent.logs.length;
  const isUp = agent.start();
  isUp.catch(() => undefined);
  const entry = await agent.waitForLog(({ msg }) => msg === 'Waiting for the container runtime', since);
  expect(entry).toMatchObject({ err: reason, hint: expect.stringContaining('Start the runtime.') as string });
  return { isUp };
}

test('run-once does not wait for a runtime that was named', async () => {
  const { code, stderr } = await agent.cli(['run-once', '-'], { input: JSON.stringify(web) });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`error: ${reason}\n`) as string });
});

test('run ends at once by SIGTERM while it waits', async () => {
  await startWaiting();
  expect(await agent.stop()).toEqual({ code: 0, signal: null });
});

test('run waits for it, says so, and runs its pods once it is there', async () => {
  await agent.write('web.json', web);
  const { isUp } = await startWaiting();
  const health = await fetch(healthz);
  expect([health.status, await health.text()]).toEqual([
    500,
    `[+]ping ok\n[-]syncloop failed: waiting for the runtime: ${reason}\nhealthz check failed\n`,
  ]);
  const { code, stderr } = await agent.cli(['ps']);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `error: kubelet-ts waits for its runtime: ${reason}\nhint: Start the runtime.\n`,
  });

  const containerd = new ManagedContainerd({ rootDir: agent.rootDir, clock: systemClock, logger: silentLogger });
  await containerd.start();
  await containerd.importImages();
  await isUp;
  containerd.release();
  await agent.untilReady('web');
  expect((await fetch(healthz)).status).toBe(200);
});
