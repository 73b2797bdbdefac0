import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { type Channel, openChannel } from '../../../src/cri/grpc-channel.ts';
import { grpcRuntimeService } from '../../../src/cri/grpc-runtime-service.ts';
import { CgroupfsManager } from '../../../src/engine/container-manager/cgroupfs-manager.ts';
import { meteredCgroups } from '../../../src/engine/container-manager/metered-cgroups.ts';
import { newStats } from '../../../src/engine/build/new-stats.ts';
import { nodeConfig } from '../../../src/node/node-config.ts';
import { openAPI } from '../../../src/node/open-api.ts';
import { referenceVersion } from '../../../src/node/options/flags.ts';
import type { NodeOptions } from '../../../src/node/options/node-options.ts';
import { nodeSources } from '../../../src/node/sources/node-sources.ts';
import { serveHealthz } from '../../../src/server/api/healthz.ts';
import { AgentMetrics } from '../../../src/server/metrics/agent-metrics.ts';
import { makeMachine } from '../../builders/machine.ts';
import { fixedNode } from '../../builders/node-config.ts';
import { type Engine, World } from '../../component/world.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { optionsOf } from '../start-case.ts';
import { describedNode } from './described-node.ts';

/** What an agent is started with. */
export interface AgentSetup {
  /** With `{dir}`, `{root}`, `{base}` and `{hostIP}` in the place of folders and addresses. */
  flags: readonly string[];
  /** Content of the file that --config names, without its kind. Texts have placeholders as flags have. */
  config?: object;
  /** Texts by file name. */
  manifests: Readonly<Record<string, string>>;
}

export interface Ports {
  secure: number;
  readonly: number;
  healthz: number;
}

type Parts = Pick<RecordedAgent, 'world' | 'engine' | 'options' | 'ports' | 'authority' | 'metrics'>;

/**
 * The agent with its servers on real sockets, and a fake runtime behind a real one. The time of the engine stands still
 * except in `world.until`.
 */
export class RecordedAgent {
  readonly world: World;
  readonly engine: Engine;
  readonly options: NodeOptions;
  readonly ports: Ports;
  /** Signs the certificates of clients. */
  readonly authority: CertificateAuthority;
  readonly metrics: AgentMetrics;
  readonly #opened: { close(): unknown }[] = [];

  private constructor(parts: Parts) {
    this.world = parts.world;
    this.engine = parts.engine;
    this.options = parts.options;
    this.ports = parts.ports;
    this.authority = parts.authority;
    this.metrics = parts.metrics;
  }

  /** Starts the engine. `prepare` scripts the runtime before. Serves nothing yet. */
  static async start(setup: AgentSetup, prepare: (world: World) => void): Promise<RecordedAgent> {
    const folder = await mkdtemp(join(tmpdir(), 'golden-server-'));
    try {
      return await RecordedAgent.#startIn(folder, setup, prepare);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  static async #startIn(folder: string, setup: AgentSetup, prepare: (world: World) => void): Promise<RecordedAgent> {
    const authority = await CertificateAuthority.make('ca');
    const ports = { secure: await freePort(), readonly: await freePort(), healthz: await freePort() };
    const files = {
      'ca.crt': authority.own.cert,
      'resolv.conf': 'nameserver 192.0.2.53\n',
      'policy.yaml': openPolicy,
      'conf.d/README': 'no drop-in',
      ...(setup.config && { [configName(setup.flags)]: configText(setup.config, folder, ports) }),
      ...Object.fromEntries(Object.entries(setup.manifests).map(([name, text]) => [`manifests/${name}`, text])),
    };
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const options = {
      ...(await optionsOf(ownFlags(setup, folder, ports))),
      podLogsDir: join(folder, 'pod-logs'),
      // The described machine is small.
      evictionHard: {},
    };
    const world = await World.open({ wire: true, folder });
    prepare(world);
    const statsHost = await describedNode(folder);
    const machine = makeMachine();
    const node = { ...nodeConfig(options, machine, fixedNode), containerLogLinksDir: join(folder, 'log-links') };
    const sources = nodeSources(options, silentLogger);
    const metrics = new AgentMetrics(world.clock, { version: referenceVersion, featureGates: options.featureGates });
    const { mounts } = world.cgroups;
    const fake = new CgroupfsManager({ mounts, files: world.cgroups, clock: world.clock, driver: 'cgroupfs' });
    const cgroups = meteredCgroups(fake, { meter: metrics.counts, clock: world.clock });
    const engine = await world.boot({
      sources,
      node,
      statsHost,
      newStats,
      cgroups,
      meter: metrics.counts,
      onCall: metrics.counts.called,
    });
    metrics.follow(engine.kubelet);
    return new RecordedAgent({ world, engine, options, ports, authority, metrics });
  }

  /** Everything of this agent. */
  get folder(): string {
    return this.world.folder;
  }

  /** In the place of /var/log. */
  get systemLogs(): string {
    return join(this.folder, 'var-log');
  }

  /** Opens all servers that the flags ask for. */
  async serve(): Promise<void> {
    const { options, engine, world } = this;
    const { kubelet } = engine;
    const faults = silentFaults();
    const channel: Channel = openChannel(world.socketPath);
    this.#opened.push(channel);
    const { metrics } = this;
    const { healthzBindAddress: bindAddress, healthzPort: port } = options;
    const unhealthyBecause = (): string | undefined => kubelet.unhealthyBecause();
    const healthz: Server = await serveHealthz({ bindAddress, port, unhealthyBecause, faults });
    const closeHealthz = (): void => {
      healthz.close();
      healthz.closeAllConnections();
    };
    this.#opened.push({ close: closeHealthz });
    this.#opened.push(
      await openAPI(options, {
        engine: kubelet,
        runtime: grpcRuntimeService(channel),
        metrics,
        clock: systemClock,
        faults,
        logger: silentLogger,
        setVerbosity: () => undefined,
        systemLogs: this.systemLogs,
      }),
    );
  }

  async end(): Promise<void> {
    for (const one of this.#opened) one.close();
    await this.world.end();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * The recorded flags for folders and ports of this test. Where the recorded kubelet let anonymous clients do
 * everything, a policy says so: the agent opens such a port only if it is told.
 */
function ownFlags({ flags, config = {} }: AgentSetup, folder: string, ports: Ports): string[] {
  const own = flags.map((flag) =>
    withPlaces(flag, folder).replace(/^--read-only-port=10255$/, `--read-only-port=${ports.readonly}`),
  );
  const { authentication, authorization } = config as RecordedAccess;
  const isOpen =
    (own.includes('--anonymous-auth=true') && own.includes('--authorization-mode=AlwaysAllow')) ||
    (authentication?.anonymous?.enabled === true && authorization?.mode === 'AlwaysAllow');
  // Recorded without it, and without saying so.
  const eviction = own.some((flag) => flag.startsWith('--config=')) ? [] : ['--eviction-hard='];
  const policy = isOpen ? [`--authorization-policy-file=${join(folder, 'policy.yaml')}`] : [];
  // In the file where it has everything else.
  const portFlags = hasPorts(config) ? [] : [`--port=${ports.secure}`, `--healthz-port=${ports.healthz}`];
  return [...portFlags, ...own, ...eviction, ...policy];
}

interface RecordedAccess {
  authentication?: { anonymous?: { enabled?: boolean } };
  authorization?: { mode?: string };
}

function withPlaces(text: string, folder: string): string {
  const places: Readonly<Record<string, string>> = {
    '{dir}': join(folder, 'manifests'),
    '{root}': join(folder, 'root'),
    '{base}': folder,
    '{hostIP}': '192.0.2.1',
  };
  return text.replace(/\{\w+\}/g, (place) => places[place] ?? place);
}

const hasPorts = (config: object): boolean => 'address' in config;

const configName = (flags: readonly string[]): string =>
  flags.map((flag) => /^--config=\{base\}\/(.*)$/.exec(flag)?.[1]).find((name) => name !== undefined) ?? 'config.yaml';

function configText(config: object, folder: string, ports: Ports): string {
  const own = { port: ports.secure, healthzPort: ports.healthz };
  const readOnly = 'readOnlyPort' in config ? { readOnlyPort: ports.readonly } : {};
  const whole = { ...configHeader, ...config, ...(hasPorts(config) && { ...own, ...readOnly }) };
  return withPlaces(JSON.stringify(whole), folder);
}

const openPolicy = JSON.stringify({
  rules: [{ groups: ['system:unauthenticated', 'system:authenticated'], verbs: ['*'], resources: ['nodes/*'] }],
});

const configHeader = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
