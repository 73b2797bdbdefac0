import { parseEvictionThresholds } from '../../api/values/eviction-thresholds.ts';
import { rootSocketPath } from '../../server/control/socket-paths.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { closedBecause } from '../../server/api/api-access.ts';
import { accessOptions } from '../open-api.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { generateFindings } from './checks/all-checks.ts';
import type { Facts, Trouble } from './checks/facts.ts';
import type { Finding, Fact } from './checks/finding.ts';
import { imageFolder, readClock, readDisk, readMemory, readPath, readSnapshotter } from './read-host-facts.ts';
import { readCDI } from './read-cdi.ts';
import { readCollision } from './read-collision.ts';
import { readHandlers } from './read-handlers.ts';
import { readNetwork, readRegistry } from './read-network-facts.ts';
import { type Port, readAgents, readHostPorts, readPort } from './read-process-facts.ts';
import { readRunningPods, readRuntime } from './read-runtime-facts.ts';
import { readCgroups, readKernel, readRights } from './read-system-facts.ts';
import { errorMessage } from '../../errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import { isDenied } from '../../process/needs-root.ts';
import { ownProgram } from '../../process/own-program.ts';
import { readUpgradeState } from '../upgrade/program-files.ts';

/**
 * Time limit of one reader in milliseconds. A file on a lost network disk never answers, but a slow board needs more
 * than eight seconds to list its iptables rules.
 */
const readLimitMs = 20_000;

export interface Examined {
  options: NodeOptions;
  /** Set if the configuration cannot be read. `options` are then only those of the flags. */
  configurationError?: Trouble | undefined;
  /** Host of a registry to query. */
  registry?: string | undefined;
}

/** Reads all facts and judges them. Never rejects for a broken machine. */
export async function diagnose(examined: Examined): Promise<Finding[]> {
  return generateFindings(await readFacts(examined));
}

async function readFacts({ options, configurationError, registry }: Examined): Promise<Facts> {
  const { rootDir, podLogsDir, manifestPaths } = options;
  const runtime = readFact('the runtime', () => readRuntime(options), runtimeMs);
  const facts = await allOf({
    rights: readFact('capabilities', readRights),
    kernel: readFact('the kernel', readKernel),
    cgroups: readFact('cgroups', readCgroups),
    handlers: readFact('runtime classes', async () => readHandlers(options, await runtime), runtimeMs),
    cdi: readFact('the files of CDI', () => readCDI()),
    network: readFact('the network', () => readNetwork(options.resolvConf)),
    collision: readFact('the routes', () => readCollision(rootDir)),
    memory: readFact('the memory', () => readMemory(rootDir)),
    clock: readFact('the clock', () => readClock(rootDir)),
    agents: readFact(
      'other agents',
      async () => {
        const runningPods = await readRunningPods(rootDir, await runtime);
        const found = await readAgents(rootDir);
        return { ...found, ...(runningPods !== undefined && { runningPods }) };
      },
      runtimeMs,
    ),
    upgrade: readFact('the upgrade', async () => ({
      program: ownProgram(),
      state: await readUpgradeState(ownProgram()),
    })),
    disks: Promise.all([
      readFact(`the disk of ${rootDir}`, () => readDisk('root-dir', rootDir)),
      readFact(
        'the disk of images',
        async () => readDisk('images', await imageFolder(rootDir, await runtime)),
        runtimeMs,
      ),
      readFact(`the disk of ${podLogsDir}`, () => readDisk('logs', podLogsDir)),
    ]),
    paths: Promise.all([
      readFact(rootDir, () => readPath('root-dir', rootDir)),
      readFact('the control socket', () => readPath('control socket', rootSocketPath(rootDir))),
      ...manifestPaths.map((path) => readFact(path, () => readPath('manifests', path))),
    ]),
    ports: Promise.all(portsOf(options).map((port) => readFact(`port ${port.port}`, () => readPort(port)))),
    hostPorts: readFact('host ports of pods', () => readHostPorts(options)),
    runtime,
    ...(registry !== undefined && { registry: readFact('the registry', () => readRegistry(registry)) }),
  });
  return {
    settings: {
      rootDir,
      cgroupDriver: options.cgroupDriver,
      protectKernelDefaults: options.protectKernelDefaults,
      refusesSwap: options.refusesSwap,
      thresholds: parseEvictionThresholds(options) ?? [],
      snapshotter: await readSnapshotter(rootDir),
    },
    configuration: {
      ...(configurationError && { error: configurationError }),
      warnings: options.warnings.map((one) => problemText(one, systemClock.now())),
    },
    ...facts,
  };
}

/** Time limit in milliseconds: four well-known sockets may take 5 s each, and are probed one after another. */
const runtimeMs = 25_000;

/** The ports that `run` would open with these options. */
function portsOf(options: NodeOptions): Port[] {
  const { healthzPort, port, readOnlyPort } = options;
  const isOpen = closedBecause(accessOptions(options)) === undefined;
  return [
    { port: healthzPort, flag: '--healthz-port' },
    { port: isOpen ? port : 0, flag: '--port' },
    { port: readOnlyPort, flag: '--read-only-port' },
  ].filter((one) => one.port > 0);
}

/** The result of a reader as a fact. Never rejects. `name` is the subject of the error message. */
export async function readFact<T>(
  name: string,
  read: () => Promise<T>,
  limitMs = readLimitMs,
  clock: Clock = systemClock,
): Promise<Fact<T>> {
  try {
    return { value: await withTimeout(clock, limitMs, read()) };
  } catch (error) {
    return { unseen: isDenied(error) ? `${name}: only root can see this` : `${name}: ${errorMessage(error)}` };
  }
}

/** Like `Promise.all`, for an object. */
async function allOf<T extends object>(promises: T): Promise<{ [Key in keyof T]: Awaited<T[Key]> }> {
  const entries = Object.entries(promises).map(async ([key, value]) => [key, await value] as const);
  return Object.fromEntries(await Promise.all(entries)) as { [Key in keyof T]: Awaited<T[Key]> };
}
