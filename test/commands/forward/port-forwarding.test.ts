import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { listenOnPorts, type Listening } from '../../../src/commands/forward/port-listeners.ts';
import { PodPorts } from '../../../src/commands/forward/pod-ports.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import type { PodSandbox } from '../../../src/cri/types.ts';
import { UserError } from '../../../src/errors.ts';
import { startStreamingServer, type Session, type StreamingServer } from '../../cri/streaming/streaming-server.ts';
import { makeSandbox } from '../runtime-listings.ts';

let server: StreamingServer;

/** Answers `pong` to the first bytes, as every port of the pod does here. */
function answer(session: Session): void {
  session.received = (stream, bytes) => {
    if (stream !== 'data' || bytes === 'end') return;
    session.send('data', 'pong');
    session.end('data');
    session.end('error');
  };
}

beforeEach(async () => {
  server = await startStreamingServer({ spdy: true, names: ['data', 'error'] }, answer);
});
afterEach(() => server.close());

/** A runtime that forwards to the ready ones of these sandboxes. */
function runtimeOf(sandboxes: PodSandbox[]): Pick<RuntimeService, 'listPodSandbox' | 'portForward'> {
  const ready = (): PodSandbox[] => sandboxes.filter(({ state }) => state === 'SANDBOX_READY');
  return {
    listPodSandbox: () => Promise.resolve({ items: ready() }),
    portForward: (request) =>
      ready().some(({ id }) => id === request?.podSandboxId)
        ? Promise.resolve({ url: `http://127.0.0.1:${String(server.port)}/portforward/token` })
        : Promise.reject(new Error('sandbox container is not running')),
  };
}

const pod = { namespace: 'default', name: 'web' };

/** Listens for these ports of pod web; `lines` are those of the command. */
async function listen(
  sandboxes: PodSandbox[],
  ports: { local: number; remote: number }[],
): Promise<Listening & { lines: string[]; warned: Promise<string> }> {
  const lines: string[] = [];
  const print = (text: string): void => void lines.push(text);
  let warn = print;
  const warned = new Promise<string>((resolve) => (warn = resolve));
  const podPorts = new PodPorts({ runtime: runtimeOf(sandboxes), print }, pod, sandboxes[0]?.id ?? '');
  const open = podPorts.open.bind(podPorts);
  const listening = await listenOnPorts(
    {
      open,
      print,
      warn: (text) => {
        warn(text);
      },
    },
    ['127.0.0.1'],
    ports,
  );
  onTestFinished(() => {
    listening.close();
  });
  return { ...listening, lines, warned };
}

async function ping(port: number | undefined): Promise<string> {
  const client = connect({ host: '127.0.0.1', port: port ?? 0 });
  client.end('ping');
  let text = '';
  for await (const chunk of client) text += String(chunk);
  return text;
}

test('each port is listened on, and connections are announced in the words of kubectl', async () => {
  const { localPorts, lines } = await listen(
    [makeSandbox({ name: 'web' })],
    [
      { local: 0, remote: 80 },
      { local: 0, remote: 81 },
    ],
  );
  const [first, second] = localPorts;
  expect([await ping(first), await ping(second)]).toEqual(['pong', 'pong']);
  expect(lines).toEqual([
    `Forwarding from 127.0.0.1:${String(first)} -> 80`,
    `Forwarding from 127.0.0.1:${String(second)} -> 81`,
    `Handling connection for ${String(first)}`,
    `Handling connection for ${String(second)}`,
  ]);
});

test('localhost is both loopback addresses, and only this machine can connect', async () => {
  const lines: string[] = [];
  const print = (text: string): void => void lines.push(text);
  const open = (): Promise<never> => Promise.reject(new Error('not asked'));
  const listening = await listenOnPorts({ open, print, warn: print }, ['localhost'], [{ local: 0, remote: 80 }]);
  onTestFinished(() => {
    listening.close();
  });
  const port = listening.localPorts[0] ?? 0;
  expect(lines).toEqual([`Forwarding from 127.0.0.1:${port} -> 80`, `Forwarding from [::1]:${port} -> 80`]);
  const client = connect({ host: '127.0.0.2', port });
  await expect(once(client, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a port takes 512 connections at a time', async () => {
  let opened = 0;
  const enough = new EventEmitter();
  const open = (): Promise<never> => {
    opened += 1;
    if (opened === 512) enough.emit('opened');
    return new Promise(() => undefined);
  };
  const print = (): void => undefined;
  const listening = await listenOnPorts({ open, print, warn: print }, ['127.0.0.1'], [{ local: 0, remote: 80 }]);
  onTestFinished(() => {
    listening.close();
  });
  const client = (): Socket => {
    const socket = connect({ host: '127.0.0.1', port: listening.localPorts[0] ?? 0 }).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const isFull = once(enough, 'opened');
  Array.from({ length: 512 }, client);
  await isFull;
  await once(client().resume(), 'close');
  expect(opened).toBe(512);
});

test('connections after a restart of the pod reach its new sandbox, with one message', async () => {
  const sandboxes = [makeSandbox({ name: 'web' })];
  const { localPorts, lines } = await listen(sandboxes, [{ local: 0, remote: 80 }]);
  const [port] = localPorts;
  expect(await ping(port)).toBe('pong');
  sandboxes.splice(0, 1, makeSandbox({ name: 'web', id: 'next' }));
  expect(await Promise.all([ping(port), ping(port), ping(port)])).toEqual(['pong', 'pong', 'pong']);
  expect(lines.filter((line) => !line.startsWith('Handling'))).toEqual([
    `Forwarding from 127.0.0.1:${String(port)} -> 80`,
    'Pod default/web restarted, forwarding to its new sandbox',
  ]);
});

test('while the pod does not run, connections fail with a message and the port stays', async () => {
  const sandboxes = [makeSandbox({ name: 'web' })];
  const { localPorts, warned } = await listen(sandboxes, [{ local: 0, remote: 80 }]);
  const [port] = localPorts;
  const [sandbox] = sandboxes.splice(0, 1);
  await expect(ping(port)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await warned).toBe(`an error occurred forwarding ${String(port)} -> 80: pod default/web is not running`);
  if (sandbox !== undefined) sandboxes.push(sandbox);
  expect(await ping(port)).toBe('pong');
});

test('a port in use is an error with a fix, and no other port stays open', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const refused = listen([makeSandbox({ name: 'web' })], [{ local: port, remote: 80 }]);
  await expect(refused).rejects.toEqual(
    new UserError(
      `unable to listen on port ${String(port)}: listen EADDRINUSE: address already in use 127.0.0.1:${String(port)}`,
      { hint: 'Give another local port, such as 18080:80, or :80 for any free one.' },
    ),
  );
});
