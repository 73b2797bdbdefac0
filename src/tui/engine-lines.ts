import { humanDuration } from '../api/values/duration.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { type Line, type Span, textLine } from './line.ts';
import type { Pulse } from './pulse.ts';
import { sparkline } from './usage-history.ts';

/** The node's engine as a page: relists, syncs, workers, sources and faults, above its pods. */
export function engineLines(snapshot: EngineSnapshot, pulse: Pulse, now: number): Line[] {
  return [
    textLine('ENGINE', { bold: true }),
    relistLine(snapshot, pulse, now),
    syncLine(pulse, now),
    workerLine(snapshot),
    ...snapshot.sources.map(({ source, where, pods, lastReadAt }) => {
      const read = lastReadAt === undefined ? 'not read yet' : `read ${humanDuration(now - lastReadAt)} ago`;
      return fact('source', `${source} ${where}: ${pods} ${pods === 1 ? 'pod' : 'pods'}, ${read}`);
    }),
    ...snapshot.faults.map(({ part, count, lastAt, message }) =>
      fact('fault', `${part}: ${message} (${count} times, ${humanDuration(now - lastAt)} ago)`, { color: 'red' }),
    ),
    textLine(''),
  ];
}

/** Bars of a sparkline. */
const barCount = 30;

function relistLine({ pleg }: EngineSnapshot, { relists }: Pulse, now: number): Line {
  const { mode, lastRelistAt, lastRelistMs = 0 } = pleg;
  if (lastRelistAt === undefined) return fact('PLEG', `${mode}, no relist yet`);
  const last = `last relist ${humanDuration(now - lastRelistAt)} ago in ${msText(lastRelistMs)}`;
  return withBars(
    fact('PLEG', `${mode}, ${last}`),
    relists.map(({ ms }) => ms),
  );
}

function syncLine({ syncs }: Pulse, now: number): Line {
  const recent = syncs.filter(({ at }) => at > now - 60_000);
  const failed = recent.filter(({ isFailed }) => isFailed).length;
  const slowest = Math.max(0, ...recent.map(({ ms }) => ms));
  const parts = [
    `${recent.length} in the last minute`,
    ...(recent.length === 0 ? [] : [`slowest ${msText(slowest)}`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ];
  return withBars(
    fact('syncs', parts.join(', '), failed === 0 ? {} : { color: 'red' }),
    syncs.map(({ ms }) => ms),
  );
}

function workerLine({ pods }: EngineSnapshot): Line {
  const states = ['waiting', 'sync', 'terminating', 'terminated', 'finished'] as const;
  const counts = states.map((state) => ({ state, count: pods.filter(({ worker }) => worker.state === state).length }));
  const shown = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state}`);
  const working = pods.filter(({ worker }) => worker.working).length;
  const pending = pods.filter(({ worker }) => worker.pending).length;
  return fact('workers', `${shown.join(', ')}; ${working} busy, ${pending} with an update waiting`);
}

/** Appends the newest latencies as bars. */
function withBars({ spans }: Line, values: readonly number[]): Line {
  return { spans: [...spans, { text: `  ${sparkline(values.slice(-barCount))}`, color: 'cyan' }] };
}

const msText = (ms: number): string => `${Math.round(ms)}ms`;

function fact(name: string, text: string, style: Omit<Span, 'text'> = {}): Line {
  return {
    spans: [
      { text: name.padEnd(9), color: 'gray' },
      { text, ...style },
    ],
  };
}
