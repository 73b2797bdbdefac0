import type { SeededRandom } from '../builders/seeded-random.ts';
import { ChaosHistory } from './chaos-history.ts';
import { runChaosRound } from './chaos-round.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { settle } from './settle.ts';

/** All that was done, and how long the node took each time until it was as declared. */
export interface ChaosFigures {
  rounds: number;
  agentKills: number;
  containerdKills: number;
  hangs: number;
  applies: number;
  rollbacks: number;
  refusedStarts: number;
  /** Milliseconds from the last thing that was done to agreement. */
  settleMs: number[];
  /** What was done in the newest round. */
  steps: readonly string[];
}

/** Throws at the first round after which the node is not as declared, or at which anything happened that never may. */
export async function runChaos(
  world: ChaosWorld,
  random: SeededRandom,
  { rounds, report }: { rounds: number; report: (figures: ChaosFigures) => void },
): Promise<ChaosFigures> {
  const history = new ChaosHistory(world);
  const figures = {
    rounds: 0,
    agentKills: 0,
    containerdKills: 0,
    hangs: 0,
    applies: 0,
    rollbacks: 0,
    refusedStarts: 0,
    settleMs: [] as number[],
    steps: [] as readonly string[],
  };
  await world.agent.start();
  while (figures.rounds < rounds) {
    const round = await runChaosRound(world, random);
    const { steps, quietSince } = round;
    try {
      const settled = await settle(world);
      figures.settleMs.push(settled.at - quietSince);
      await history.check(settled);
      await world.noteRevisions();
    } catch (cause) {
      throw new Error(`after round ${figures.rounds} (${steps.join(', ')})`, { cause });
    }
    figures.rounds += 1;
    for (const key of ['agentKills', 'containerdKills', 'hangs', 'applies', 'rollbacks', 'refusedStarts'] as const)
      figures[key] += round[key];
    figures.steps = round.steps;
    report(figures);
  }
  return figures;
}
