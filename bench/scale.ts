import { systemClock } from '../src/clock.ts';
import { scaleContainers } from './bench-pod.ts';
import { FakeNode } from './fake-node.ts';
import type { Figures, Quantity } from './figures.ts';
import { growthPower } from './growth.ts';

/** All pods are synced once a minute, unevenly. */
const idleWindowMs = 60_000;
const relistWindowMs = 10_000;
/** Milliseconds until an idle V8 has collected the garbage from startup. */
const collectedAfterMs = 20_000;
/** Number of pods in which one container exits. */
const exits = 100;

/** Measures what it costs to start and keep this many pods, and how the cost grows with their number. */
export async function measureScale({ figures, sizes }: { figures: Figures; sizes: readonly number[] }): Promise<void> {
  const points = new Map<Quantity, { size: number; cost: number }[]>();
  for (const size of sizes) {
    process.stderr.write(`  ${size} pods, ${size * scaleContainers.length} containers\n`);
    for (const [quantity, cost] of await measureSize(size)) {
      process.stderr.write(`    ${quantity.what}: ${cost.toFixed(1)} ${quantity.unit}\n`);
      figures.add({ ...quantity, what: `${quantity.what}, ${size} pods` }, 'kubelet-ts', cost);
      points.set(quantity, [...(points.get(quantity) ?? []), { size, cost }]);
    }
  }
  for (const [{ what }, costs] of points) {
    const power = growthPower(costs);
    // A single size shows no growth.
    if (!Number.isNaN(power)) figures.add({ what: `growth of: ${what}`, unit: 'power of pods' }, 'kubelet-ts', power);
  }
}

const quantities = {
  startCpu: { what: 'CPU to start all pods', unit: 'ms' },
  memory: { what: 'resident memory', unit: 'MB' },
  idleCpu: { what: 'CPU, idle', unit: 'ms/s' },
  eventCpu: { what: 'CPU of an exit and restart', unit: 'ms' },
  relistCpu: { what: 'CPU of a relist', unit: 'ms' },
  adoption: { what: 'start of the agent → every running container looked at', unit: 'ms' },
  adoptionCpu: { what: 'CPU to start on running pods', unit: 'ms' },
} as const satisfies Record<string, Quantity>;

async function measureSize(size: number): Promise<[Quantity, number][]> {
  const node = await FakeNode.open(size);
  try {
    await node.start();
    await node.until('all containers run', () => node.runtime.running().length === node.containers);
    const { cpuMs } = await node.atRest();
    await systemClock.sleep(collectedAfterMs);
    const { residentMB } = await node.usage();
    const idleCpu = await measureIdle(node);
    const eventCpu = await measureExits(node, idleCpu);
    const relistCpu = await measureRelists(node, idleCpu);
    await node.stop('SIGKILL');
    const { adoption, adoptionCpu } = await measureAdoption(node);
    return [
      [quantities.startCpu, cpuMs],
      [quantities.memory, residentMB],
      [quantities.idleCpu, idleCpu],
      [quantities.eventCpu, eventCpu],
      [quantities.relistCpu, relistCpu],
      [quantities.adoption, adoption],
      [quantities.adoptionCpu, adoptionCpu],
    ];
  } finally {
    await node.close();
  }
}

/** Returns the milliseconds of CPU per second while idle. */
async function measureIdle(node: FakeNode): Promise<number> {
  const cpuMs = await cpuMsOf(node, 0, () => systemClock.sleep(idleWindowMs));
  return (cpuMs * 1000) / idleWindowMs;
}

async function measureExits(node: FakeNode, idleCpu: number): Promise<number> {
  const [container = ''] = scaleContainers;
  const names = node.names.slice(0, exits);
  const cpuMs = await cpuMsOf(node, idleCpu, async () => {
    for (const name of names) node.runtime.exitContainer({ pod: `${name}-bench`, container }, 1);
    await node.until('all containers run again', () => node.runtime.running().length === node.containers);
    await node.atRest();
  });
  return cpuMs / names.length;
}

async function measureRelists(node: FakeNode, idleCpu: number): Promise<number> {
  node.endEvents();
  const first = node.relists;
  await node.until('everything is listed each second', () => node.relists > first + 2);
  const from = node.relists;
  const cpuMs = await cpuMsOf(node, idleCpu, () => systemClock.sleep(relistWindowMs));
  return cpuMs / (node.relists - from);
}

/** Returns the agent's CPU during an action, minus its idle CPU, in milliseconds. */
async function cpuMsOf(node: FakeNode, idleCpu: number, act: () => Promise<void>): Promise<number> {
  const [before, from] = [await node.usage(), performance.now()];
  await act();
  const seconds = (performance.now() - from) / 1000;
  return (await node.usage()).cpuMs - before.cpuMs - idleCpu * seconds;
}

/** Measures how an agent that was killed starts again while its pods run. */
async function measureAdoption(node: FakeNode): Promise<{ adoption: number; adoptionCpu: number }> {
  const known = node.runtime.calls.length;
  const from = await node.start();
  const lookedAt = new Set<string>();
  let seen = known;
  await node.until('every container is looked at', () => {
    for (const { method, request } of node.runtime.calls.slice(seen)) {
      if (method === 'containerStatus') lookedAt.add((request as { containerId: string }).containerId);
    }
    seen = node.runtime.calls.length;
    return lookedAt.size >= node.containers;
  });
  const adoption = performance.now() - from;
  return { adoption, adoptionCpu: (await node.atRest()).cpuMs };
}
