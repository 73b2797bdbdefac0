import { FakeNode } from './fake-node.ts';
import { makePrograms } from './programs.ts';
import { type Figures, percentile, type Quantity } from './figures.ts';

/** Milliseconds between two checks: a small part of the time that a start takes. */
const lookEveryMs = 2;
/** Number of starts per run of other measures. A start is short, and one differs much from the next. */
const startsPerRun = 3;

const quantities = {
  cpu: { what: 'start of the agent → first container, CPU', unit: 'ms' },
  time: { what: 'start of the agent → first container', unit: 'ms' },
} as const satisfies Record<string, Quantity>;

/** Measures the starts of the bundle and of the executable alternately, on an in-memory runtime. */
export async function measureStart({ figures, runs }: { figures: Figures; runs: number }): Promise<void> {
  const programs = await makePrograms();
  const samples = { cpu: { bundle: [], executable: [] }, time: { bundle: [], executable: [] } } as Samples;
  // The first ones fill the disk cache.
  for (let run = -1; run < runs * startsPerRun; run++) {
    const inTurn = ['bundle', 'executable'] as const;
    for (const who of run % 2 === 0 ? inTurn : inTurn.toReversed()) {
      const taken = await measureOne(programs[who]);
      if (run < 0) continue;
      for (const key of ['cpu', 'time'] as const) samples[key][who].push(taken[key]);
    }
  }
  for (const key of ['cpu', 'time'] as const) {
    const quantity = quantities[key];
    for (const who of ['bundle', 'executable'] as const) figures.add(quantity, who, ...samples[key][who]);
    const ratio = percentile(samples[key].executable, 25) / percentile(samples[key].bundle, 25);
    figures.add({ what: `${quantity.what}: ratio of lower quartiles`, unit: 'times' }, 'executable', ratio);
  }
}

type Samples = Record<'cpu' | 'time', Record<'bundle' | 'executable', number[]>>;

async function measureOne(program: string): Promise<Record<'cpu' | 'time', number>> {
  const node = await FakeNode.open(1);
  try {
    await node.ageManifests();
    const from = await node.start(program);
    const isCreated = (): boolean => node.runtime.calls.some(({ method }) => method === 'createContainer');
    await node.until('the first container is created', isCreated, lookEveryMs);
    return { cpu: node.cpuMs, time: performance.now() - from };
  } finally {
    await node.close();
  }
}
