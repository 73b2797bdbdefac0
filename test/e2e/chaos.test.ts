import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SeededRandom } from '../builders/seeded-random.ts';
import { ChaosWorld } from '../chaos/chaos-world.ts';
import { describeProgress } from '../chaos/describe-progress.ts';
import { runOrphanRounds } from '../chaos/orphan-rounds.ts';
import { runPowerCuts } from '../chaos/power-cuts.ts';
import { runChaos } from '../chaos/run-chaos.ts';
import { Agent } from './agent.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { cache } from './program.ts';

/** Set by scripts/chaos; a few rounds with the same seed otherwise. */
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 4);
const seed = Number(process.env['CHAOS_SEED'] ?? 1);
const isLong = process.env['CHAOS_ROUNDS'] !== undefined;
/** An orphan round takes three times as long as the others. */
const orphanRounds = isLong ? rounds : 2;
const powerCuts = isLong ? rounds : 3;
/** A round takes some seconds; a node that does not settle is given up after one minute. */
const timeoutMs = 120_000 + rounds * 60_000;

test(
  'however kubelet-ts and its containerd are killed, the pods are as declared again, none ran twice, and nothing is left',
  async () => {
    const namespace = await NetworkNamespace.create();
    try {
      await survive(await ChaosWorld.managed(new SeededRandom(seed), namespace));
    } finally {
      await namespace.remove();
    }
  },
  timeoutMs,
);

test(
  'however a runtime hangs, loses connections and is killed, the pods are as declared again, none ran twice, and nothing is left',
  async () => {
    await survive(await ChaosWorld.proxied(new SeededRandom(seed)));
  },
  timeoutMs,
);

test(
  'however the agent is killed while it stops pods without a manifest, their hooks and programs write all that they must',
  async () => {
    const agent = await Agent.create();
    try {
      expect(await runOrphanRounds(agent, new SeededRandom(seed), orphanRounds)).toBe(orphanRounds);
    } catch (error) {
      await writeFile(join(cache, `chaos-orphans-${seed}.log`), agent.logText());
      await agent.cleanUp().catch(() => undefined);
      throw error;
    }
    await agent.cleanUp();
  },
  timeoutMs,
);

test(
  'however the power is cut while pods start, stop and write, all run in the end, no job runs twice, and none in a loop',
  async () => {
    const report = (line: string): void => {
      if (isLong) process.stderr.write(line);
    };
    expect(await runPowerCuts(new SeededRandom(seed), powerCuts, report)).toBe(powerCuts);
  },
  timeoutMs,
);

async function survive(world: ChaosWorld): Promise<void> {
  try {
    const figures = await runChaos(world, new SeededRandom(seed + 1), {
      rounds,
      report: (soFar) => {
        if (isLong) process.stderr.write(describeProgress(soFar));
      },
    });
    expect(figures.rounds).toBe(rounds);
  } catch (error) {
    await writeFile(join(cache, `chaos-${world.kind}-${seed}.log`), world.agent.logText());
    // What is left over follows from the first failure.
    await world.cleanUp().catch(() => undefined);
    throw error;
  }
  await world.cleanUp();
}
