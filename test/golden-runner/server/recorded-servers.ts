import type { ConnectionOptions } from 'node:tls';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { FakeStreamingServer } from '../../fakes/fake-streaming-server.ts';
import { describePods } from './described-node.ts';
import { isReady, type RecordedServer, scriptRuntime, type ServerSetup, writeSystemLogs } from './http-server-setup.ts';
import type { Known } from './placeholders.ts';
import { type Ports, RecordedAgent } from './recorded-agent.ts';
import { instancesOf, reportUsage, scriptPods, writeLogs } from './recorded-pods.ts';

/** A server that answers as long as its agent runs. */
export interface ServerUnderTest {
  agent: RecordedAgent;
  port: number;
  /** Absent for plain HTTP. Certificates of clients by the name of their credentials. */
  tls?: Readonly<Record<string, ConnectionOptions>>;
  streaming: FakeStreamingServer;
  /** Values of placeholders. */
  known: Known;
}

/** The servers of a recording. Those with the same flags belong to one agent, which is started when it is asked. */
export class RecordedServers {
  readonly #setup: ServerSetup;
  readonly #agents = new Map<string, Promise<Omit<ServerUnderTest, 'port'>>>();

  constructor(setup: ServerSetup) {
    this.#setup = setup;
  }

  /** True for a server that asks an API server about its clients. */
  asksAPIServer(name: string): boolean {
    const flags = this.#flagsOf(name);
    const { authorization } = (this.#server(name).config ?? {}) as { authorization?: { mode?: string } };
    if (authorization?.mode === 'Webhook') return true;
    return flags.includes('--authorization-mode=Webhook') || flags.includes('--authentication-token-webhook=true');
  }

  async named(name: string): Promise<ServerUnderTest> {
    const server = { ...this.#server(name), flags: this.#flagsOf(name) };
    const key = JSON.stringify([server.flags, server.config]);
    let started = this.#agents.get(key);
    if (started === undefined) {
      started = this.#start(server);
      this.#agents.set(key, started);
    }
    const { tls, ...shared } = await started;
    const ports: Readonly<Record<string, keyof Ports>> = { readonly: 'readonly', healthz: 'healthz' };
    const port = shared.agent.ports[ports[name] ?? 'secure'];
    return { ...shared, port, ...(server.tls === true && tls && { tls }) };
  }

  async end(): Promise<void> {
    for (const started of this.#agents.values()) {
      const { agent, streaming } = await started;
      streaming.stop();
      await agent.end();
    }
  }

  /** Flags of a server; a text such as `as webhook with --v=4` refers to those of another one. */
  #flagsOf(name: string): readonly string[] {
    const { flags } = this.#server(name);
    if (typeof flags !== 'string') return flags;
    const [, other = '', more = ''] = /^as (\S+)(?: with (.*))?$/.exec(flags) ?? [];
    return [...this.#flagsOf(other), ...more.split(' ').filter((flag) => flag !== '')];
  }

  #server(name: string): RecordedServer {
    const server = this.#setup.servers[name];
    if (server === undefined) throw new Error(`The recording has no server ${name}`);
    return server;
  }

  async #start({
    flags,
    config,
  }: Omit<RecordedServer, 'flags'> & { flags: readonly string[] }): Promise<Omit<ServerUnderTest, 'port'>> {
    const { commonFlags, manifests, containerLogs, varLog } = this.#setup;
    const streaming = new FakeStreamingServer();
    await streaming.start();
    const setup = { flags: [...commonFlags, ...flags], manifests, ...(config && { config }) };
    const agent = await RecordedAgent.start(setup, (world) => {
      scriptPods(world, Object.values(manifests));
      scriptRuntime(world, streaming);
    });
    await agent.world.until(() => isReady(agent));
    // Rates need a second sample.
    await describePods(agent);
    await reportUsage(agent.world);
    await agent.engine.kubelet.summary({ maxAgeMs: 0, cpuAndMemoryOnly: false });
    await agent.world.pass(1000);
    await reportUsage(agent.world);
    await agent.world.until(() => isReady(agent));
    await writeLogs(agent, containerLogs.files);
    await writeSystemLogs(agent, varLog);
    await agent.serve();
    return { agent, streaming, tls: await credentialsOf(agent), known: await knownOf(agent) };
  }
}

async function credentialsOf({ authority }: RecordedAgent): Promise<Record<string, ConnectionOptions>> {
  const past = { notBefore: new Date('2024-01-01T00:00:00Z'), notAfter: new Date('2024-02-01T00:00:00Z') };
  const user = 'golden-user';
  return {
    cert: await authority.issue(user),
    expired: await authority.issue(user, past),
    wrongUsage: await authority.issue(user, { usage: 'server' }),
    otherCA: await (await CertificateAuthority.make('other')).issue(user),
  };
}

async function knownOf({ world, engine, folder }: RecordedAgent): Promise<Known> {
  const known = new Map([
    ['{base}', folder],
    ['{root}', world.rootDir],
    ['{dir}', `${folder}/manifests`],
  ]);
  for (const { pod } of engine.kubelet.snapshot().pods) known.set(`{uid:${pod.metadata.name}}`, pod.metadata.uid);
  for (const { name, attempt, id } of await instancesOf(world)) known.set(`{id:${name}/${attempt}}`, id);
  for (const { id, metadata } of (await world.runtime.listPodSandbox()).items) {
    known.set(`{id:sandbox:${metadata?.name ?? ''}}`, id);
  }
  return known;
}
