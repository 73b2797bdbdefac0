import type { ChaosFigures } from './run-chaos.ts';

/** Longest a node should take to be as declared again. */
const promptMs = 10_000;

/** What to tell people after a round: one that took too long, and every tenth time how all of them went. */
export function describeProgress(figures: ChaosFigures): string {
  const newestMs = figures.settleMs.at(-1) ?? 0;
  const late =
    newestMs > promptMs
      ? `round ${figures.rounds}: as declared only after ${(newestMs / 1000).toFixed(1)} s: ${figures.steps.join(', ')}\n`
      : '';
  return figures.rounds % 10 === 0 ? `${late}${summary(figures)}\n` : late;
}

function summary(figures: ChaosFigures): string {
  const { rounds, agentKills, containerdKills, hangs, applies, rollbacks, refusedStarts, settleMs } = figures;
  const sorted = [...settleMs].sort((a, b) => a - b);
  const seconds = (share: number): string =>
    ((sorted[Math.ceil((sorted.length - 1) * share)] ?? NaN) / 1000).toFixed(1);
  const late = sorted.filter((ms) => ms > promptMs).length;
  return (
    `${rounds} rounds: kubelet-ts killed ${agentKills} times, containerd ${containerdKills}, ${hangs} hangs, ` +
    `${applies} pods applied, ${rollbacks} rolled back, ` +
    `${refusedStarts} starts without a runtime; as declared after ${seconds(0.5)} s (median), ` +
    `${seconds(0.9)} s (9 of 10), ${seconds(1)} s (all), later than ${promptMs / 1000} s ${late} times`
  );
}
