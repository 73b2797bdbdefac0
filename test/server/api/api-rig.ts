import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { RpcError } from '../../../src/errors.ts';
import type { ApiEngine, ApiRuntime } from '../../../src/server/api/api-engine.ts';
import type { Access } from '../../../src/server/api/api-handler.ts';
import { apiMounts, type HandlerOptions, type MountDeps } from '../../../src/server/api/api-mounts.ts';
import { type SecureServer, serveReadOnly, serveSecure } from '../../../src/server/api/api-server.ts';
import { HTTPCounts } from '../../../src/server/metrics/http-counts.ts';
import { systemClock } from '../../../src/clock.ts';
import { HealthSLIs } from '../../../src/server/metrics/health-slis.ts';
import { TokenUsers } from '../../../src/server/api/token-file.ts';
import { defaultConfiguration } from '../../builders/default-configuration.ts';
import { CertificateAuthority, type Certificate } from '../../fakes/certificate-authority.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

export const handlerOptions: HandlerOptions = {
  enableDebuggingHandlers: true,
  enableSystemLogHandler: true,
  enableProfilingHandler: true,
  enableDebugFlagsHandler: true,
  streamingConnectionIdleTimeout: 0,
  rootDir: '/root-dir',
  splitStreams: false,
  translatesWebSockets: true,
  checkpoints: true,
  logQueries: false,
  runtimeRequestTimeout: 120_000,
};

/** A pod `default/web` whose container `a` runs as `id-a`. */
export const web: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
  spec: { containers: [{ name: 'a', image: 'img' }] },
  status: {
    containerStatuses: [
      {
        name: 'a',
        image: 'img',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: 'containerd://id-a',
        state: { running: { startedAt: '2024-01-02T03:04:05Z' } },
      },
    ],
  },
};

export function engineWith(pods: readonly Pod[]): ApiEngine {
  return {
    snapshot: () => ({ pods: pods.map((pod) => ({ pod })) }) as unknown as ReturnType<ApiEngine['snapshot']>,
    subscribe: () => () => undefined,
    summary: () => Promise.reject(new Error('no statistics')),
    unhealthyBecause: () => undefined,
    devicePluginsUnhealthyBecause: () => undefined,
  };
}

/** A runtime that refuses what it is asked, and has no pods. */
const refuse = (): Promise<never> => Promise.reject(new RpcError('Exec', 2, 'scripted'));
const idleRuntime = {
  listPodSandbox: () => Promise.resolve({ items: [] }),
  listContainers: () => Promise.resolve({ containers: [] }),
  containerStatus: () => Promise.resolve({ status: undefined }),
  reopenContainerLog: refuse,
  exec: refuse,
  execSync: refuse,
  attach: refuse,
  portForward: refuse,
  checkpointContainer: refuse,
};

/** A page of metrics in these parts. */
export function* inParts(...parts: readonly string[]): Generator<Buffer, void> {
  for (const part of parts) yield Buffer.from(part);
}

/** The handlers of a node with pod `web`. */
export function apiDeps(runtime: Partial<ApiRuntime> = {}): MountDeps {
  const metrics = {
    parts: (path: string) => Promise.resolve(inParts(`# metrics of ${path}\n`)),
    binaryParts: (path: string) => Promise.resolve(inParts(`binary metrics of ${path}`)),
    health: new HealthSLIs(),
    http: new HTTPCounts(systemClock),
  };
  return {
    engine: engineWith([web]),
    runtime: { ...idleRuntime, ...runtime } as unknown as ApiRuntime,
    metrics,
    clock: systemClock,
    options: handlerOptions,
    configuration: defaultConfiguration,
    pages: {
      version: 'v1.36.3',
      startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      flags: { v: '2', address: '0.0.0.0' },
      hasStatusz: true,
      hasFlagz: true,
    },
    systemLogs: '/nowhere',
    setVerbosity: () => undefined,
  };
}

interface RigOptions {
  runtime?: Partial<ApiRuntime>;
  access?: Partial<Access>;
  tokens?: TokenUsers;
  anonymous?: boolean;
  options?: Partial<HandlerOptions>;
  systemLogs?: string;
  setVerbosity?: MountDeps['setVerbosity'];
  engine?: ApiEngine;
  clock?: MountDeps['clock'];
  metrics?: MountDeps['metrics'];
  configuration?: MountDeps['configuration'];
  pages?: MountDeps['pages'];
}

/** A read-only server for one test, and its counts. */
export async function openReadOnly() {
  const counts = new HTTPCounts(new FakeClock());
  const server = await serveReadOnly({
    address: '127.0.0.1',
    port: 0,
    mounts: apiMounts(apiDeps(), { readOnly: true }),
    faults: silentFaults(),
    counts,
  });
  onTestFinished(() => void server.close());
  return { server, port: (server.address() as AddressInfo).port, counts };
}

/** A real server with an authority for its clients. */
export class ApiRig {
  readonly secure: SecureServer;
  readonly authority: CertificateAuthority;
  readonly serving: Certificate;
  /** Faults of handlers. */
  readonly problems: unknown[];

  private constructor(
    secure: SecureServer,
    { authority, serving, problems }: Pick<ApiRig, 'authority' | 'serving' | 'problems'>,
  ) {
    this.problems = problems;
    this.secure = secure;
    this.authority = authority;
    this.serving = serving;
  }

  static async open({
    runtime = {},
    access = {},
    tokens = new TokenUsers(new Map()),
    anonymous = false,
    options = {},
    ...deps
  }: RigOptions = {}): Promise<ApiRig> {
    const problems: unknown[] = [];
    const note = (_where: string, problem: unknown): void => void problems.push(problem);
    const authority = await CertificateAuthority.make('clients');
    const serving = await authority.issue('node');
    const secure = await serveSecure({
      address: '127.0.0.1',
      port: 0,
      mounts: apiMounts(
        { ...apiDeps(runtime), ...deps, options: { ...handlerOptions, ...options } },
        { readOnly: false },
      ),
      faults: { record: note },
      counts: new HTTPCounts(systemClock),
      access: () => ({
        authentication: { hasClientCA: true, tokens, anonymous },
        authorization: { kind: 'all' },
        ...access,
      }),
      pair: serving,
      clientCA: authority.own.cert,
      limits: { minVersion: 'TLSv1.2' },
    });
    onTestFinished(() => {
      secure.close();
    });
    return new ApiRig(secure, { authority, serving, problems });
  }

  get port(): number {
    return (this.secure.server.address() as AddressInfo).port;
  }

  async connect(client?: Certificate): Promise<TLSSocket> {
    const socket = connect({ port: this.port, host: '127.0.0.1', rejectUnauthorized: false, ...client });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** Resolves when the server has no connection. */
  async untilClosed(): Promise<void> {
    const { server } = this.secure;
    const count = promisify(server.getConnections.bind(server));
    while ((await count()) > 0) await nextTurn();
  }

  connectPlain(): Socket {
    return connectPlain({ port: this.port, host: '127.0.0.1' });
  }

  /** Sends a request and resolves with the whole answer. The connection is closed by the server. */
  async ask(
    line: string,
    { client, headers = [], body = '' }: { client?: Certificate; headers?: string[]; body?: string } = {},
  ): Promise<string> {
    const socket = await this.connect(client);
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    const close = headers.some((header) => header.startsWith('Upgrade')) ? [] : ['Connection: close'];
    socket.write(`${[`${line} HTTP/1.1`, 'Host: node', ...close, ...headers, ...length].join('\r\n')}\r\n\r\n${body}`);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(socket, 'close');
    return text;
  }

  /** Status and body of an answer. */
  async short(...asked: Parameters<ApiRig['ask']>): Promise<string> {
    const [head = '', ...body] = (await this.ask(...asked)).split('\r\n\r\n');
    return `${head.split(' ')[1] ?? ''} ${body.join('\r\n\r\n')}`;
  }
}
