import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTCPServer } from 'node:net';
import { Server as GrpcServer, ServerCredentials, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Probe } from 'kubernetes-types/core/v1.js';
import type { Container } from '../../../src/api/types.ts';
import { systemClock } from '../../../src/clock.ts';
import { HealthCheckRequest, HealthCheckResponse } from '../../../src/cri/generated/health.ts';
import { grpcHealthCheck } from '../../../src/cri/grpc-health-check.ts';
import { BrokenBody } from '../../../src/engine/network/http-get.ts';
import { type ProbeOutcome, runProbe } from '../../../src/engine/prober/run-probe.ts';
import { withoutDescriptors } from '../../support/without-descriptors.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const container: Container = {
  name: 'app',
  env: [
    { name: 'FILE', value: '/ready' },
    { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ],
};

const outcomeOf = (
  probe: Probe,
  runtime = new FakeRuntime({ clock: new FakeClock() }),
  containerID = 'c1',
): Promise<ProbeOutcome> =>
  runProbe({ runtime, checkHealth: grpcHealthCheck, clock: systemClock }, probe, {
    container,
    containerID,
    podIP: '127.0.0.1',
    signal: new AbortController().signal,
  });

async function portOf(server: Server | ReturnType<typeof createTCPServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that gives each client the next of these answers in UTF-8, and then closes the connection. */
async function rawServer(
  ...answers: string[]
): Promise<{ port: number; requests: string[]; connections: () => number }> {
  const requests: string[] = [];
  let connections = 0;
  const server = createTCPServer((socket) => {
    connections += 1;
    socket.once('data', (bytes: Buffer) => {
      requests.push(bytes.toString());
      socket.end(answers.shift() ?? '');
    });
  });
  return { port: await portOf(server), requests, connections: () => connections };
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createTCPServer();
  const port = await portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

const httpServer = (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> =>
  portOf(createServer(answer));

describe('an HTTP probe', () => {
  test.each([
    [200, { result: 'success', output: 'body' }],
    [204, { result: 'success', output: '' }],
    [404, { result: 'failure', output: 'HTTP probe failed with statuscode: 404' }],
    [503, { result: 'failure', output: 'HTTP probe failed with statuscode: 503' }],
  ] as const)('that is answered with %i', async (code, outcome) => {
    const port = await httpServer((_request, response) => response.writeHead(code).end('body'));
    expect(await outcomeOf({ httpGet: { port } })).toEqual(outcome);
  });

  test('sends what the manifest says, on its own connection', async () => {
    const requests: unknown[] = [];
    const port = await httpServer(({ url, rawHeaders }, response) => {
      requests.push([url, rawHeaders]);
      response.end();
    });
    const httpHeaders = [
      { name: 'x-a', value: '1' },
      { name: 'x-a', value: '2' },
      { name: 'host', value: 'me.example' },
    ];
    await outcomeOf({ httpGet: { port, path: '/a b?c=d', httpHeaders } });
    expect(requests).toEqual([
      [
        '/a%20b?c=d',
        [
          ...['X-A', '1', 'X-A', '2', 'Host', 'me.example', 'User-Agent', 'kube-probe/1.36', 'Accept', '*/*'],
          ...['Connection', 'close'],
        ],
      ],
    ]);
  });

  test('follows redirects on the host, to any port', async () => {
    const target = await httpServer(({ url }, response) => response.end(`at ${url ?? ''}`));
    const port = await httpServer((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${target}/x?y` }).end(),
    );
    expect(await outcomeOf({ httpGet: { port } })).toEqual({ result: 'success', output: 'at /x?y' });
  });

  test('that is sent to another host is a warning, and nobody asks there', async () => {
    const port = await httpServer((_request, response) =>
      response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end('elsewhere'),
    );
    expect(await outcomeOf({ httpGet: { port } })).toEqual({
      result: 'warning',
      output: 'Probe terminated redirects, Response body: elsewhere',
    });
  });

  test('that is sent round in circles fails after ten requests', async () => {
    let requests = 0;
    const port = await httpServer((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/again' }).end();
    });
    const outcome = await outcomeOf({ httpGet: { port } });
    expect({ requests, outcome }).toEqual({
      requests: 10,
      outcome: { result: 'failure', output: 'Get "/again": stopped after 10 redirects' },
    });
  });

  test('reaches a page behind nine redirects', async () => {
    const port = await httpServer(({ url = '' }, response) => {
      const step = Number(url.slice(1));
      if (step === 9) response.end('here');
      else response.writeHead(307, { location: `${step + 1}` }).end();
    });
    expect(await outcomeOf({ httpGet: { port, path: '/0' } })).toEqual({ result: 'success', output: 'here' });
  });

  test.each([
    ['/x', '/x me.example'],
    ['../x?y', '/x?y me.example'],
    ['?y', '/a/b?y me.example'],
    ['./c/..', '/a/ me.example'],
    ['../../../c', '/c me.example'],
    ['%2e%2e/c', '/a/%2e%2e/c me.example'],
    ['//127.0.0.1:PORT/x', '/x me.example'],
    ['http://127.0.0.1:PORT/x', '/x 127.0.0.1:PORT'],
    ['/x/é', '/x/%C3%A9 me.example'],
  ])('that is sent to %s asks for %s', async (location, expected) => {
    const asked: string[] = [];
    const port: number = await httpServer(({ url = '', headers: { host = '' } }, response) => {
      asked.push(`${url} ${host.replace(String(port), 'PORT')}`);
      const bytes = Buffer.from(location.replace('PORT', String(port)));
      if (asked.length === 1) response.writeHead(302, { location: bytes.toString('latin1') });
      response.end();
    });
    await outcomeOf({ httpGet: { port, path: '/a/b', httpHeaders: [{ name: 'Host', value: 'me.example' }] } });
    expect(asked).toEqual(['/a/b me.example', expected]);
  });

  test('that is sent to an address that cannot be parsed fails', async () => {
    const port = await httpServer((_request, response) => response.writeHead(302, { location: 'http://[::1' }).end());
    expect(await outcomeOf({ httpGet: { port } })).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/": failed to parse Location header "http://[::1"`,
    });
  });

  test('that is sent to another kind of server fails', async () => {
    const port = await httpServer((_request, response) =>
      response.writeHead(302, { location: 'ftp://127.0.0.1/' }).end(),
    );
    expect(await outcomeOf({ httpGet: { port } })).toEqual({
      result: 'failure',
      output: 'Get "ftp://127.0.0.1/": unsupported protocol scheme "ftp"',
    });
  });

  test('that is redirected to nowhere is a warning', async () => {
    const { port } = await rawServer('HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 4\r\n\r\nlost');
    expect(await outcomeOf({ httpGet: { port } })).toEqual({
      result: 'warning',
      output: 'Probe terminated redirects, Response body: lost',
    });
  });

  test.each([
    ['line ends without carriage returns', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['a header over two lines', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok'],
    [
      'two kinds of length',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['20 KB of headers', `HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(20_000)}\r\nContent-Length: 2\r\n\r\nok`],
  ])('takes an answer with %s', async (_title, answer) => {
    const { port } = await rawServer(answer);
    expect(await outcomeOf({ httpGet: { port } })).toEqual({ result: 'success', output: 'ok' });
  });

  test.each([
    ['is shorter than announced', 'Content-Length: 20\r\n\r\nok', 'unexpected EOF'],
    ['ends within a chunk', 'Transfer-Encoding: chunked\r\n\r\n20\r\nok', 'unexpected EOF'],
    [
      'has a damaged chunk',
      'Transfer-Encoding: chunked\r\n\r\nzz\r\nok',
      'Parse Error: Invalid character in chunk size',
    ],
  ])('whose body %s says nothing of the container', async (_title, rest, message) => {
    const { port } = await rawServer(`HTTP/1.1 200 OK\r\n${rest}`);
    await expect(outcomeOf({ httpGet: { port } })).rejects.toThrow(new BrokenBody(message));
  });

  test('whose body does not end in time says nothing of the container', async () => {
    const port = await httpServer((_request, response) => response.writeHead(200).write('ok'));
    await expect(outcomeOf({ httpGet: { port }, timeoutSeconds: 1 })).rejects.toThrow(
      new BrokenBody('context deadline exceeded (Client.Timeout or context cancellation while reading body)'),
    );
  });

  test('sends texts beyond Latin-1 in UTF-8, and the host in Punycode', async () => {
    const { port, requests } = await rawServer(
      'HTTP/1.1 302 Found\r\nLocation: /é?☃\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\n',
    );
    const httpHeaders = [
      { name: 'X-A', value: 'žluť ☃ é' },
      { name: 'Host', value: 'bücher.example:81' },
    ];
    expect(await outcomeOf({ httpGet: { port, path: '/☃?q=☃é', httpHeaders } })).toEqual({
      result: 'success',
      output: '',
    });
    const headers = [
      ...['X-A: žluť ☃ é', 'Host: xn--bcher-kva.example:81', 'User-Agent: kube-probe/1.36', 'Accept: */*'],
      ...['Connection: close', '', ''],
    ];
    expect(requests.map((request) => request.split('\r\n'))).toEqual([
      ['GET /%E2%98%83?q=☃é HTTP/1.1', ...headers],
      ['GET /%C3%A9?☃ HTTP/1.1', ...headers],
    ]);
  });

  test('with a header that cannot be sent fails without a connection', async () => {
    const { port, connections } = await rawServer('HTTP/1.1 200 OK\r\n\r\n');
    const outcome = await outcomeOf({ httpGet: { port, httpHeaders: [{ name: 'X-A', value: 'a\nb' }] } });
    expect(outcome).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/": Invalid character in header content ["X-A"]`,
    });
    await outcomeOf({ httpGet: { port } });
    expect(connections()).toBe(1);
  });

  test('with an empty Host header sends the address', async () => {
    const hosts: unknown[] = [];
    const port = await httpServer(({ headers: { host } }, response) => {
      hosts.push(host);
      response.end();
    });
    await outcomeOf({ httpGet: { port, httpHeaders: [{ name: 'Host', value: '' }] } });
    expect(hosts).toEqual([`127.0.0.1:${port}`]);
  });

  test('reads no more than 10 KiB of a body', async () => {
    const port = await httpServer((_request, response) => response.end('x'.repeat(100_000)));
    expect(await outcomeOf({ httpGet: { port } })).toEqual({ result: 'success', output: 'x'.repeat(10_240) });
  });

  test('without an answer in time fails', async () => {
    const port = await httpServer(() => undefined);
    expect(await outcomeOf({ httpGet: { port }, timeoutSeconds: 1 })).toEqual({
      result: 'failure',
      output:
        `Get "http://127.0.0.1:${port}/": context deadline exceeded ` +
        '(Client.Timeout exceeded while awaiting headers)',
    });
  });

  test('that nobody answers fails', async () => {
    const port = await closedPort();
    expect(await outcomeOf({ httpGet: { port, path: '/healthz' } })).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/healthz": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });

  test('of a port that the container does not have cannot be made', async () => {
    await expect(outcomeOf({ httpGet: { port: 'web' } })).rejects.toThrow('container "app" has no port "web"');
  });
});

describe('a TCP probe', () => {
  test('succeeds when somebody listens, and fails when nobody does', async () => {
    const server = createTCPServer((socket) => socket.end());
    const port = await portOf(server);
    expect(await outcomeOf({ tcpSocket: { port } })).toEqual({ result: 'success', output: '' });
    server.close();
    await once(server, 'close');
    expect(await outcomeOf({ tcpSocket: { port } })).toEqual({
      result: 'failure',
      output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });
});

describe('a gRPC probe', () => {
  /** A server that knows of one service, `up`, and answers by its name. */
  async function grpcServer(
    implementsHealth: boolean,
    moreFields: Uint8Array = new Uint8Array(),
    onCall: (call: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>) => void = () => undefined,
  ): Promise<number> {
    const server = new GrpcServer();
    if (implementsHealth) {
      const check = {
        path: '/grpc.health.v1.Health/Check',
        requestStream: false,
        responseStream: false,
        requestSerialize: (request: HealthCheckRequest) => Buffer.from(HealthCheckRequest.encode(request).finish()),
        requestDeserialize: (bytes: Buffer) => HealthCheckRequest.decode(bytes),
        responseSerialize: (answer: HealthCheckResponse) =>
          Buffer.concat([HealthCheckResponse.encode(answer).finish(), moreFields]),
        responseDeserialize: (bytes: Buffer) => HealthCheckResponse.decode(bytes),
      } as const;
      server.addService(
        { check },
        {
          check: (
            call: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
            reply: (error: object | null, answer?: HealthCheckResponse) => void,
          ) => {
            const { request } = call;
            onCall(call);
            if (request.service === '' || request.service === 'up') reply(null, { status: 'SERVING' });
            else if (request.service === 'down') reply(null, { status: 'NOT_SERVING' });
            else reply({ code: status.NOT_FOUND, details: 'unknown service' });
          },
        },
      );
    }
    onTestFinished(() => {
      server.forceShutdown();
    });
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(port);
        else reject(error);
      });
    });
  }

  test.each([
    ['up', { result: 'success', output: '' }],
    ['down', { result: 'failure', output: 'service unhealthy (responded with "NOT_SERVING")' }],
    ['other', { result: 'failure', output: 'error: health rpc probe failed: unknown service' }],
  ])('of a service that is %s', async (service, outcome) => {
    const port = await grpcServer(true);
    expect(await outcomeOf({ grpc: { port, service }, timeoutSeconds: 30 })).toEqual(outcome);
  });

  test('goes past the proxy of the environment', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of ['grpc_proxy', 'https_proxy', 'no_grpc_proxy', 'no_proxy']) vi.stubEnv(name, '');
    vi.stubEnv('http_proxy', `http://127.0.0.1:${await closedPort()}`);
    const port = await grpcServer(true);
    expect(await outcomeOf({ grpc: { port }, timeoutSeconds: 30 })).toEqual({ result: 'success', output: '' });
  });

  test('names itself and the address it asks', async () => {
    const seen: unknown[] = [];
    const port = await grpcServer(true, undefined, (call) => {
      const [agent = ''] = call.metadata.get('user-agent');
      seen.push({ agent: agent.toString().split(' ')[0], authority: call.getHost() });
    });
    await outcomeOf({ grpc: { port }, timeoutSeconds: 30 });
    expect(seen).toEqual([{ agent: 'kube-probe/1.36', authority: `127.0.0.1:${port}` }]);
  });

  test('that nobody answers fails', async () => {
    const port = await closedPort();
    expect(await outcomeOf({ grpc: { port }, timeoutSeconds: 30 })).toEqual({
      result: 'failure',
      output: `error: failed to connect service at "127.0.0.1:${port}": connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });

  test('takes an answer of 4 KiB, and none above', async () => {
    // A status of 2 bytes, and a field that nobody knows, whose number and length take 3.
    const fieldOf = (length: number): Buffer =>
      Buffer.concat([Buffer.from([0x7a, (length & 0x7f) | 0x80, length >> 7]), Buffer.alloc(length)]);
    const ask = async (length: number): Promise<ProbeOutcome> =>
      outcomeOf({ grpc: { port: await grpcServer(true, fieldOf(length)) }, timeoutSeconds: 30 });
    expect(await ask(4091)).toEqual({ result: 'success', output: '' });
    expect(await ask(4092)).toEqual({
      result: 'failure',
      output: 'error: health rpc probe failed: Received message larger than max (4097 vs 4096)',
    });
  });

  test('of a server without the health protocol fails', async () => {
    const port = await grpcServer(false);
    const { result, output } = await outcomeOf({ grpc: { port }, timeoutSeconds: 30 });
    expect([result, output.split(':')[0]]).toEqual([
      'failure',
      'this server does not implement the grpc health protocol',
    ]);
  });
});

describe('a probe for which the agent has no descriptor', () => {
  test.each(['httpGet', 'tcpSocket', 'grpc'])(
    '%s cannot be made, which says nothing of the container',
    async (kind) => {
      const port = await portOf(createTCPServer());
      const reason: unknown = await withoutDescriptors(() =>
        outcomeOf({ [kind]: { port }, timeoutSeconds: 30 }).catch((error: unknown) => error),
      );
      expect(reason).toEqual(expect.objectContaining({ message: expect.stringContaining('EMFILE') as unknown }));
      expect(await outcomeOf({ tcpSocket: { port } })).toEqual({ result: 'success', output: '' });
    },
  );
});

describe('an exec probe', () => {
  test('runs the command with what the manifest itself says of the environment', async () => {
    const runtime = new FakeRuntime({ clock: new FakeClock() });
    runtime.injectError('execSync', new Refusal(codes.unknown, 'no such container'));
    const probe = { exec: { command: ['test', '-e', '$(FILE)', '$(IP)', '$(NOPE)', '$$(FILE)'] }, timeoutSeconds: 3 };
    await expect(outcomeOf(probe, runtime)).rejects.toThrow('no such container');
    expect(runtime.requestsOf('execSync')).toEqual([
      { containerId: 'c1', cmd: ['test', '-e', '/ready', '', '$(NOPE)', '$(FILE)'], timeout: 3n },
    ]);
  });

  test('has 10 KiB of output at most', async () => {
    const runtime = new FakeRuntime({ clock: new FakeClock() });
    runtime.addImage('app:1');
    const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata: { name: 'web' } } });
    const config = { metadata: { name: 'app' }, image: { image: 'app:1' } };
    const { containerId } = await runtime.createContainer({ podSandboxId, config });
    await runtime.startContainer({ containerId });
    runtime.scriptExec(() => ({ stdout: Buffer.alloc(10_000, 'o'), stderr: Buffer.alloc(10_000, 'e'), exitCode: 1 }));
    expect(await outcomeOf({ exec: { command: ['talk'] } }, runtime, containerId)).toEqual({
      result: 'failure',
      output: `${'o'.repeat(10_000)}${'e'.repeat(240)} … 9760 bytes left out`,
    });
  });

  test('that takes too long fails', async () => {
    const runtime = new FakeRuntime({ clock: new FakeClock() });
    runtime.injectError('execSync', new Refusal(codes.deadlineExceeded, 'timeout 1s exceeded'));
    expect(await outcomeOf({ exec: { command: ['sleep', '9'] } }, runtime)).toEqual({
      result: 'failure',
      output: 'timeout 1s exceeded',
    });
  });
});
