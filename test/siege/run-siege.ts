import { setMaxListeners } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../src/errors.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { SeededRandom } from '../builders/seeded-random.ts';
import { Agent } from '../e2e/agent.ts';
import { NetworkNamespace } from '../e2e/network-namespace.ts';
import { cache } from '../e2e/program.ts';
import { type Attack, type Besieged, ports, type Siege } from './attack.ts';
import { type CalmPod, calmManifests, calmPodsOf, calmPodsReady } from './calm-pods.ts';
import { type CommandTimes, type Figures, figuresOf, figuresText, type Sample } from './measured.ts';
import { runPeer } from './peer.ts';
import { networkRemains, SeenSandboxes } from './network-remains.ts';

export interface SiegeOptions {
  readonly attacks: readonly Attack[];
  readonly seconds: number;
  readonly seed: number;
  /** Is told of the figures at the end, and now and then before. */
  readonly say: (text: string) => void;
}

export interface SiegeOutcome {
  readonly figures: Figures;
  readonly before: readonly CalmPod[];
  readonly after: readonly CalmPod[];
  /** What an attack found that never may be. */
  readonly failures: readonly string[];
}

/** Descriptors of the agent and of its containerd: fewer than the attackers have connections. */
const maxOpenFiles = 2048;
const lookEveryMs = 5000;
const sayEveryMs = 60_000;

/**
 * Attacks one agent with 20 calm pods in every way at once. Rejects when something of it is left over after all was
 * taken down; what else may not be is told by the outcome. The log of the agent is in `.cache/` afterwards.
 */
export async function runSiege({ attacks, seconds, seed, say }: SiegeOptions): Promise<SiegeOutcome> {
  const namespace = await NetworkNamespace.create();
  const folder = await mkdtemp('/tmp/kts-siege-');
  await chmod(folder, 0o755);
  const flags = ['--healthz-port', String(ports.healthz), '--file-check-frequency', '5s'];
  const agent = await Agent.create({
    manifests: calmManifests(),
    networkNamespace: namespace.path,
    flags,
    maxOpenFiles,
    isService: true,
  });
  const besieged = { agent, namespace, folder };
  const seen = new SeenSandboxes();
  try {
    for (const { prepare } of attacks) flags.push(...((await prepare?.(besieged)) ?? []));
    await agent.start();
    const before = await calmPodsReady(agent);
    const attacked = await attackAll(besieged, attacks, { seconds, seed, say, seen });
    if (attacked.failures.length > 0) say(`${attacked.failures.join('\n')}\n`);
    const { pods } = await agent.until((snapshot) => isCalm(snapshot.pods.map(({ pod }) => pod.metadata.name)));
    return { ...attacked, before, after: calmPodsOf(pods) };
  } finally {
    await writeFile(join(cache, `siege-${seed}.log`), agent.logText());
    await cleanUp(besieged, seen);
  }
}

/** All that is left are pods that nobody attacked, and those that a URL declares. */
const isCalm = (names: readonly string[]): boolean => names.every((name) => /^(calm-|from-url)/.test(name));

interface AttackOptions extends Pick<SiegeOptions, 'seconds' | 'seed' | 'say'> {
  readonly seen: SeenSandboxes;
}

async function attackAll(
  besieged: Besieged,
  attacks: readonly Attack[],
  { seconds, seed, say, seen }: AttackOptions,
): Promise<Pick<SiegeOutcome, 'figures' | 'failures'>> {
  const { agent, namespace } = besieged;
  const random = new SeededRandom(seed);
  const over = new AbortController();
  const { signal } = over;
  // Each process and each pause of each attack listens to it.
  setMaxListeners(0, signal);
  const samples: Sample[] = [];
  const commands: CommandTimes[] = [];
  const hits = new Map(attacks.map(({ name }) => [name, 0]));
  const failures: string[] = [];
  const note = (what: string) => (error: unknown) => void failures.push(`${what}: ${errorMessage(error)}`);
  const figures = (): Figures => figuresOf(samples, commands, logSize(agent));
  const sampler = runPeer(namespace, 'sampler.mjs', signal, {
    arguments: [String(ports.healthz), controlSocketPath(agent.rootDir), String(agent.pid)],
    onLine: (line) => void samples.push(JSON.parse(line) as Sample),
  });
  const operator = runPeer(namespace, 'operator.mjs', signal, {
    arguments: agent.ownCommandLine(['ps']),
    hasSession: true,
    onLine: (line) => void commands.push(JSON.parse(line) as CommandTimes),
  });
  const parties = [
    sampler.catch(note('sampler')),
    operator.catch(note('operator')),
    every(lookEveryMs, signal, () => seen.look(agent).catch(() => undefined)),
    every(sayEveryMs, signal, () => {
      say(figuresText(figures(), hits));
      return Promise.resolve();
    }),
    ...attacks.map(({ name, carryOn }) => {
      const siege: Siege = {
        ...besieged,
        random: new SeededRandom(random.fork()),
        signal,
        hit: () => void hits.set(name, (hits.get(name) ?? 0) + 1),
        peer: (script, options) => runPeer(namespace, script, signal, options),
      };
      return carryOn(siege).catch(note(name));
    }),
  ];
  await delay(seconds * 1000);
  over.abort();
  await Promise.all(parties);
  say(figuresText(figures(), hits));
  return { figures: figures(), failures };
}

/** Ends with the signal; an act that fails is told at the end. */
async function every(ms: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  for (;;) {
    await delay(ms, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    await act();
  }
}

function logSize({ logs }: Agent): Pick<Figures, 'logLines' | 'logMB'> {
  const bytes = logs.reduce((sum, entry) => sum + JSON.stringify(entry).length, 0);
  return { logLines: logs.length, logMB: bytes / 1e6 };
}

async function cleanUp({ agent, namespace, folder }: Besieged, seen: SeenSandboxes): Promise<void> {
  try {
    await agent.stop().catch(() => undefined);
    await agent.cleanUp();
    const remains = await networkRemains(namespace, seen);
    if (remains.length > 0) throw new Error(`left over in the network: ${remains.join(', ')}`);
  } finally {
    await namespace.remove();
    await rm(folder, { recursive: true });
  }
}
