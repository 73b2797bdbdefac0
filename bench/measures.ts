import { Agent, type AgentCommand } from './agent.ts';
import { benchManifest, initChainManifest, networkManifest } from './bench-pod.ts';
import { measureBox } from './box.ts';
import { commandMs } from './command-time.ts';
import { type Figures, floor, type Quantity } from './figures.ts';
import { measureFloorOfInitChain, measureFloorOfMany, measureFloorOfOne, millis } from './floor.ts';
import { processUsage } from './process-usage.ts';
import { measurePodman } from './podman.ts';
import { measurePs } from './ps.ts';
import { measureReading } from './reading.ts';
import { measureRunOnce } from './run-once.ts';
import { freePort, measureScrapes, scrapeEvery15s } from './scrape.ts';
import { measureScale } from './scale.ts';
import { measureServices } from './services.ts';
import { measureStart } from './start.ts';
import type { Stage } from './stage.ts';
import { systemClock } from '../src/clock.ts';
import type { InstalledContainerd } from '../src/containerd/find-containerd.ts';

interface Bench {
  figures: Figures;
  /** Number of samples per figure. Slow ones get fewer. */
  runs: number;
}

interface StageBench extends Bench {
  stage: Stage;
  /** Our agent comes first. */
  agents: readonly AgentCommand[];
  /** Path of a podman to compare with. */
  podman: string | undefined;
}

/** The measures that need a containerd, by name, in the order in which they run. */
export const stageMeasures: Record<string, (bench: StageBench) => Promise<void>> = {
  one: measureOnePod,
  init: measureInitChain,
  many: measureManyPods,
  boot: measureBoot,
  commands: measureCommands,
  scrape: measureScrape,
  scraped: measureScrapedIdle,
  'run-once': ({ stage, figures, runs }) => measureRunOnce(stage, figures, runs),
};

/** The measures of our agent that need no real runtime. */
export const ownMeasures: Record<string, (bench: Bench & { sizes: readonly number[] }) => Promise<void>> = {
  read: measureReading,
  ps: measurePs,
  scale: measureScale,
  start: measureStart,
  services: measureServices,
};

/** The measures of a whole box, with its own containerd. */
export const boxMeasures: Record<string, (bench: Bench & { installed: InstalledContainerd }) => Promise<void>> = {
  box: measureBox,
};

const manyPods = 50;
const scrapedPods = 100;
const maxRunsOfMany = 3;
/** Milliseconds: long enough for one sync of all pods and one relist. */
const idleWindowMs = 90_000;
/** Milliseconds until the work after a change is done. */
const settleMs = 5000;
/** Milliseconds until V8 has also collected the garbage from startup, which it does when idle. */
const idleSettleMs = 20_000;

const quantities = {
  started: { what: 'manifest dropped → container started', unit: 'ms' },
  restarted: { what: 'container exit → restarted', unit: 'ms' },
  stopped: { what: 'manifest removed → container stopped', unit: 'ms' },
  chainStarted: { what: '5 init containers, then main: dropped → started', unit: 'ms' },
  manyStarted: { what: `${manyPods} manifests dropped → all started`, unit: 'ms' },
  created: { what: 'start of the agent → first container created', unit: 'ms' },
} as const satisfies Record<string, Quantity>;

async function measureOnePod(bench: StageBench): Promise<void> {
  const { stage, figures, agents, runs } = bench;
  for (let run = 0; run < runs; run++) {
    const times = await measureFloorOfOne(stage, `floor-${run}`);
    for (const key of ['started', 'restarted', 'stopped'] as const) figures.add(quantities[key], floor, times[key]);
  }
  for (const command of agents) {
    await withAgent(stage, command, ['warm-up'], async (agent) => {
      await agent.started(['warm-up']);
      await measureIdle(stage, figures, agent, '1 pod');
      for (let run = 0; run < runs; run++) {
        const names = [`one-${run}`];
        const droppedAt = await agent.drop(names);
        const first = await agent.started(names);
        figures.add(quantities.started, agent.name, first.startedAt - droppedAt);

        process.kill(await stage.processOf(first.containerID), 'SIGKILL');
        const second = await agent.started(names, 1);
        const { finishedAt } = await stage.containerStatus(first.containerID);
        figures.add(quantities.restarted, agent.name, second.startedAt - millis(finishedAt));

        const pid = await stage.processOf(second.containerID);
        const removedAt = await agent.remove(names);
        figures.add(quantities.stopped, agent.name, (await stage.processEnd(pid)) - removedAt);
        await systemClock.sleep(settleMs / 5);
      }
    });
  }
  await measurePodman(bench, { quantity: quantities.started, pods: 1, runs });
}

async function measureInitChain({ stage, figures, agents, runs }: StageBench): Promise<void> {
  for (let run = 0; run < runs; run++) {
    figures.add(quantities.chainStarted, floor, await measureFloorOfInitChain(stage, `floor-${run}`));
  }
  for (const command of agents) {
    await withAgent(stage, command, ['warm-up'], async (agent) => {
      await agent.started(['warm-up']);
      for (let run = 0; run < runs; run++) {
        const names = [`chain-${run}`];
        const droppedAt = await agent.drop(names, initChainManifest);
        figures.add(quantities.chainStarted, agent.name, (await agent.started(names)).startedAt - droppedAt);
        await agent.remove(names);
        await systemClock.sleep(settleMs / 5);
      }
    });
  }
}

async function measureManyPods(bench: StageBench): Promise<void> {
  const { stage, figures, agents, runs } = bench;
  for (let run = 0; run < Math.min(runs, maxRunsOfMany); run++) {
    figures.add(quantities.manyStarted, floor, await measureFloorOfMany(stage, `floor-${run}`, manyPods));
    for (const command of agents) {
      await withAgent(stage, command, ['warm-up'], async (agent) => {
        await agent.started(['warm-up']);
        await systemClock.sleep(settleMs / 5);
        const names = Array.from({ length: manyPods }, (_, index) => `many-${index}`);
        const droppedAt = await agent.drop(names);
        figures.add(quantities.manyStarted, agent.name, (await agent.started(names)).startedAt - droppedAt);
        if (run === 0) await measureIdle(stage, figures, agent, `${manyPods} pods`);
      });
    }
  }
  await measurePodman(bench, { quantity: quantities.manyStarted, pods: manyPods, runs: 1 });
}

async function measureBoot({ stage, figures, agents, runs }: StageBench): Promise<void> {
  for (let run = 0; run < runs; run++) {
    figures.add(quantities.created, floor, (await measureFloorOfOne(stage, `floor-${run}`)).created);
    for (const command of agents) {
      await withAgent(stage, command, ['boot'], async (agent) => {
        figures.add(quantities.created, agent.name, (await agent.started(['boot'])).createdAt - agent.spawnedAt);
      });
    }
  }
}

/** Measures our commands and an idle Node alternately, so that a busy moment of the machine affects both. */
async function measureCommands({ stage, figures, agents: [ours] }: StageBench): Promise<void> {
  if (ours === undefined) return;
  const names = Array.from({ length: 10 }, (_, index) => `command-${index}`);
  await withAgent(stage, ours, names, async (agent) => {
    await agent.started(names);
    await systemClock.sleep(settleMs);
    await timeCommands(figures, { 'ps of 10 pods, with an agent': ['ps', '--root-dir', agent.root] });
    await agent.stop();
    await timeCommands(figures, {
      'ps of 10 pods, without an agent': [
        ...['ps', '--root-dir', agent.root],
        ...['--container-runtime-endpoint', `unix://${stage.socket}`],
      ],
      '--version': ['--version'],
    });
  });
}

/** A Prometheus that scrapes 100 pods that are not on the host network. */
async function measureScrape({ stage, figures, agents: [ours] }: StageBench): Promise<void> {
  if (ours === undefined) return;
  await withScrapedAgent(stage, ours, { pods: scrapedPods, manifest: networkManifest }, async (agent, port) => {
    await systemClock.sleep(idleSettleMs);
    await measureScrapes(figures, agent, port, `${scrapedPods} pods`);
  });
}

/** An idle agent that is scraped by a Prometheus with default settings. */
async function measureScrapedIdle({ stage, figures, agents: [ours] }: StageBench): Promise<void> {
  if (ours === undefined) return;
  await withScrapedAgent(stage, ours, { pods: manyPods, manifest: benchManifest }, (agent, port) => {
    const meanwhile = (ms: number): Promise<void> => scrapeEvery15s(port, ms);
    return measureIdle(stage, figures, agent, `${manyPods} pods and scrapes of /metrics`, meanwhile);
  });
}

/** Starts an agent with a read-only port and this many pods from a manifest. */
async function withScrapedAgent(
  stage: Stage,
  agent: AgentCommand,
  { pods, manifest }: { pods: number; manifest: (name: string) => string },
  use: (agent: Agent, port: number) => Promise<void>,
): Promise<void> {
  const names = Array.from({ length: pods }, (_, index) => `scraped-${index}`);
  const port = await freePort();
  const command = `${agent.command} --read-only-port ${port} --address 127.0.0.1`;
  await withAgent(stage, { ...agent, command }, [], async (started) => {
    await started.drop(names, manifest);
    await started.started(names);
    await use(started, port);
  });
}

async function timeCommands(figures: Figures, commands: Record<string, string[]>): Promise<void> {
  const commandRuns = 15;
  for (let run = 0; run < commandRuns; run++) {
    for (const [what, args] of Object.entries(commands)) {
      const quantity = { what, unit: 'ms' } as const;
      figures.add(quantity, floor, await commandMs([process.execPath, '-e', '0']));
      figures.add(quantity, 'kubelet-ts', await commandMs(['bin/kubelet-ts', ...args]));
    }
  }
}

/** `meanwhile` is what happens during the window. It must last as long as the window. */
async function measureIdle(
  stage: Stage,
  figures: Figures,
  agent: Agent,
  pods: string,
  meanwhile = (ms: number): Promise<void> => systemClock.sleep(ms),
): Promise<void> {
  await systemClock.sleep(idleSettleMs);
  const pids = { agent: agent.pid, containerd: stage.containerdPID };
  const usage = (): Promise<{ agent: number; containerd: number; residentMB: number }> =>
    Promise.all([processUsage(pids.agent), processUsage(pids.containerd)]).then(([own, containerd]) => ({
      agent: own.cpuMs,
      containerd: containerd.cpuMs,
      residentMB: own.residentMB,
    }));
  const [before, from] = [await usage(), performance.now()];
  await meanwhile(idleWindowMs);
  const [after, seconds] = [await usage(), (performance.now() - from) / 1000];
  figures.add({ what: `resident memory, idle with ${pods}`, unit: 'MB' }, agent.name, after.residentMB);
  for (const key of ['agent', 'containerd'] as const) {
    const what = `CPU of ${key === 'agent' ? 'the agent' : key}, idle with ${pods}`;
    figures.add({ what, unit: 'ms/s' }, agent.name, (after[key] - before[key]) / seconds);
  }
}

/** Starts an agent in a separate folder with these manifests, and removes everything afterwards. */
async function withAgent(
  stage: Stage,
  command: AgentCommand,
  waiting: readonly string[],
  use: (agent: Agent) => Promise<void>,
): Promise<void> {
  const agent = await Agent.start(stage, command, waiting);
  try {
    await use(agent);
  } catch (error) {
    process.stderr.write(await agent.lastLogLines());
    throw error;
  } finally {
    await agent.stop();
    await stage.removePods();
  }
}
