import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../builders/seeded-random.ts';
import type { Agent } from '../e2e/agent.ts';
import { hostFolder, makePod, serve, shell } from '../e2e/manifests.ts';
import { untilExited } from '../e2e/until-exited.ts';
import { journalFolder } from './chaos-pod.ts';
import { listRuntime } from './list-runtime.ts';
import { pidOf } from './pid-of.ts';

/** How a pod loses its manifest while no agent runs. */
const losses = ['removed', 'changed', 'down'] as const;

/**
 * Pods with slow preStop hooks and slow ends lose their manifests while no agent runs. The agent that stops them is
 * killed again and again. Throws if a pod was killed before its hook and its program wrote all that they had to write.
 */
export async function runOrphanRounds(agent: Agent, random: SeededRandom, rounds: number): Promise<number> {
  await mkdir(journalFolder(agent.rootDir));
  await agent.write('stays.yaml', makePod('stays', { hostNetwork: true, containers: [shell('main', serve)] }));
  for (let round = 0; round < rounds; round += 1) await runRound(agent, random, round);
  return rounds;
}

async function runRound(agent: Agent, random: SeededRandom, round: number): Promise<void> {
  const loss = random.pick(losses);
  const names = random.times(1, 3, (index) => `orphan${index}`);
  await agent.start();
  for (const name of names) await agent.write(`${name}.yaml`, slowPod(agent, name, `${name}-${round}`, random));
  for (const name of names) await agent.untilReady(name);
  await (random.chance(0.5) ? agent.kill9() : agent.stop());
  if (loss === 'down') {
    const { code, stderr } = await agent.down();
    if (code !== 0) throw new Error(`round ${round}: down failed: ${stderr}`);
  }
  for (const name of names) {
    if (loss === 'changed') await agent.write(`${name}.yaml`, slowPod(agent, name, `${name}-${round}-next`, random));
    else await agent.remove(`${name}.yaml`);
  }
  await agent.start();
  for (let kills = random.below(4); kills > 0; kills -= 1) {
    await delay(random.below(3000));
    await agent.kill9();
    await agent.start();
  }
  if (loss === 'changed') for (const name of names) await untilNext(agent, name, `${name}-${round}-next`);
  for (const name of loss === 'changed' ? names : []) await agent.remove(`${name}.yaml`);
  await agent.until(({ pods }) => pods.length === 1);
  await untilStopped(agent, names);
  for (const name of names) await wasGraceful(agent, round, loss, `${name}-${round}`);
  await agent.stop();
}

/** Its hook writes after some seconds, and its program some seconds after it is asked to end. */
function slowPod({ rootDir }: Agent, name: string, key: string, random: SeededRandom): object {
  const seconds = (): number => random.below(3) + 1;
  const main = shell(
    'main',
    `trap 'sleep ${seconds()}; echo ended >>/journal/${key}; exit 0' TERM; while :; do sleep 0.1; done`,
    {
      lifecycle: { preStop: { exec: { command: ['sh', '-c', `sleep ${seconds()}; echo hook >>/journal/${key}`] } } },
      volumeMounts: [{ name: 'journal', mountPath: '/journal' }],
    },
  );
  return makePod(name, {
    annotations: { key },
    hostNetwork: true,
    terminationGracePeriodSeconds: 600,
    containers: [main],
    volumes: [hostFolder('journal', journalFolder(rootDir))],
  });
}

async function untilNext(agent: Agent, name: string, key: string): Promise<void> {
  await agent.untilPod(name, ({ pod, worker }) => worker.state === 'sync' && pod.metadata.annotations?.['key'] === key);
  await agent.untilReady(name);
}

/** An agent lists no pod that only the runtime knows. */
async function untilStopped(agent: Agent, names: readonly string[]): Promise<void> {
  const { containers } = await listRuntime(agent);
  const running = containers.filter(({ podName, isRunning }) => isRunning && names.includes(podName));
  // A container that exits meanwhile may be removed.
  const pids = await Promise.all(running.map(({ id }) => pidOf(agent, 'container', id).catch(() => undefined)));
  await Promise.all(pids.filter((pid) => pid !== undefined).map(untilExited));
}

async function wasGraceful({ rootDir }: Agent, round: number, loss: string, key: string): Promise<void> {
  const written = await readFile(join(journalFolder(rootDir), key), 'utf8').catch(() => '');
  // A kill of the agent may make the next one run the hook again.
  if (written.includes('hook\n') && written.endsWith('ended\n')) return;
  throw new Error(`after round ${round} (${loss}), ${key} wrote only ${JSON.stringify(written)}`);
}
