import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlink } from 'node:fs/promises';
import { createServer as createHTTPServer, type RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordAgentProcess } from '../../../src/server/control/agent-process.ts';
import { call, stream, untilExited } from '../../../src/server/control/control-call.ts';
import { holderText } from '../../../src/files/file-lock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A twentieth of what commands give an agent. */
const timings = { answerMs: 100, pingAfterMs: 10, bodyMs: 150, busyMs: 300 };
/** Nothing of it ends in a test. */
const unhurried = { answerMs: 60_000, pingAfterMs: 50_000, bodyMs: 60_000, busyMs: 60_000 };
const patient = { answerMs: 10_000, pingAfterMs: 10, bodyMs: 60_000, busyMs: 60_000 };
let socketPath: string;

beforeEach(async () => {
  socketPath = join(await temporaryFolder(), 'agent.sock');
});

/** Listens as an agent would, with what a connection meets. */
async function listen(onConnection: (socket: Socket) => void): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  await recordAgentProcess(socketPath);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

/** Answers who it is at once, and everything else in its own way. */
async function serve(answer: RequestListener): Promise<void> {
  const server = createHTTPServer((request, response) => {
    if (request.url === '/v1/agent') response.end('{}');
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  await recordAgentProcess(socketPath);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}

const snapshot = (timings = unhurried) => call({ socketPath, method: 'GET', path: '/v1/snapshot', timings });
const silent = (what: string) => ({
  name: 'UserError',
  message: expect.stringMatching(new RegExp(`^kubelet-ts \\(pid ${process.pid}, (asleep|busy)\\) ${what}$`)) as string,
  agent: { pid: process.pid, startTicks: expect.any(String) as string },
});

describe('an agent', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['asked for something', () => snapshot(timings)],
    ['whose end is waited for', () => untilExited({ socketPath, method: 'GET', path: '/v1/events', timings })],
    [
      'whose events are followed',
      () => stream({ socketPath, method: 'GET', path: '/v1/events', timings }, new AbortController().signal).next(),
    ],
  ])('that takes a connection and says nothing is silent when %s', async (_title, ask) => {
    await listen((socket) => socket.resume());
    await expect(ask()).rejects.toMatchObject(silent('does not answer'));
  });

  test('may take as long as it likes while it says who it is', async () => {
    let asked = 0;
    const server = createHTTPServer((request, response) => {
      if (request.url === '/v1/agent') response.end('{}');
      else first = response;
      asked += 1;
      if (asked === 5) first?.end('late');
    });
    let first: { end: (text: string) => unknown } | undefined;
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    expect(await call({ socketPath, method: 'GET', path: '/v1/snapshot', timings: patient })).toBe('late');
  });

  test('that sends half an answer and stays is silent', async () => {
    await serve((_request, response) => response.writeHead(200, { 'content-length': '10' }).write('half'));
    await expect(snapshot({ ...unhurried, answerMs: 100 })).rejects.toMatchObject(silent('sent an incomplete answer'));
  });

  test('that ends in the middle of its answer is gone', async () => {
    await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy());
    });
    expect(await snapshot()).toBeUndefined();
  });

  test('that answers a byte at a time is silent in the end', async () => {
    await serve((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 5);
      response.on('close', () => {
        clearInterval(timer);
      });
    });
    await expect(snapshot({ ...unhurried, bodyMs: 150 })).rejects.toMatchObject(silent('sent an incomplete answer'));
  });

  test('that answers without end is refused before memory runs out', async () => {
    const block = Buffer.alloc(16 * 1024 * 1024, 'x');
    await serve((_request, response) => {
      const more = (): void => {
        response.write(block, (error) => {
          if (!error) more();
        });
      };
      more();
    });
    await expect(
      call({ socketPath, method: 'GET', path: '/v1/snapshot', timings: patient, maxBodyBytes: 32 * 1024 * 1024 }),
    ).rejects.toMatchObject(silent('sends an endless answer'));
  });

  test.each([
    ['an error', 'HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n', 'answers with status 500'],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n', 'sends an invalid answer'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`, 'sends an invalid answer'],
  ])('that answers with %s is distinguished from one that does not run', async (_title, text, what) => {
    await listen((socket) => socket.end(text));
    await expect(snapshot()).rejects.toMatchObject(silent(what));
  });

  test('reports no event without end', async () => {
    await serve((_request, response) => {
      response.write('x'.repeat(5_000_000));
    });
    const asked = { socketPath, method: 'GET', path: '/v1/events', timings: unhurried } as const;
    await expect(stream(asked, new AbortController().signal).next()).rejects.toMatchObject({
      message: 'kubelet-ts sent a line that is too long',
    });
  });

  test('that is not recorded is recognized by its socket', async () => {
    const server = createServer((socket) => socket.resume());
    server.listen(socketPath);
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    const connections: Socket[] = [];
    server.on('connection', (socket) => connections.push(socket));
    onTestFinished(() => {
      for (const socket of connections) socket.destroy();
    });
    await expect(snapshot(timings)).rejects.toMatchObject({
      message: expect.stringMatching(`^kubelet-ts \\(pid ${process.pid}, .*\\) does not answer$`) as string,
      agent: { pid: process.pid },
    });
  });
});

describe('an agent that does not say who it is', () => {
  /** An agent of its own process that does this when it is asked for a snapshot. */
  async function agentThat(does: string): Promise<number> {
    const script = `require('node:http').createServer((request, response) => {
      if (request.url === '/v1/snapshot') { ${does} }
      response.end('late');
    }).listen(${JSON.stringify(socketPath)}, () => console.log('up'));`;
    const agent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void agent.kill('SIGKILL'));
    await once(agent.stdout, 'data');
    const pid = agent.pid ?? 0;
    await symlink(await holderText(pid), `${socketPath}.holder`);
    return pid;
  }
  const busyFor = (ms: number): string => `for (const end = Date.now() + ${ms}; Date.now() < end;);`;
  const asked = () => ({ socketPath, method: 'GET', path: '/v1/snapshot' }) as const;
  const hurried = { answerMs: 200, pingAfterMs: 10, bodyMs: 60_000, busyMs: 30_000 };

  test('is waited for while it works, by a patient caller', async () => {
    const pid = await agentThat(busyFor(1000));
    const busy: number[] = [];
    const onBusy = (agent: { pid: number }): void => void busy.push(agent.pid);
    expect(await call({ ...asked(), timings: hurried, onBusy })).toBe('late');
    expect(busy.length).toBeGreaterThan(0);
    expect(new Set(busy)).toEqual(new Set([pid]));
  });

  const advice = (pid: number): string =>
    `It works, but slowly. Try again in a moment, or see what it does: top -H -p ${pid}`;

  test.each<[string, object]>([
    ['by a caller that can work without it', {}],
    ['after a minute, by a patient one', { onBusy: () => undefined }],
  ])('and works is not waited for %s, without a hint to kill it', async (_title, caller) => {
    const pid = await agentThat(busyFor(20_000));
    const timings = { ...hurried, busyMs: 300 };
    await expect(call({ ...asked(), timings, ...caller })).rejects.toMatchObject({
      message: `kubelet-ts (pid ${pid}, busy) does not answer`,
      hint: advice(pid),
    });
  });

  test('and does not work is not waited for', async () => {
    const pid = await agentThat('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);');
    const onBusy = (): void => undefined;
    await expect(call({ ...asked(), timings: hurried, onBusy })).rejects.toMatchObject({
      message: `kubelet-ts (pid ${pid}, asleep) does not answer`,
      hint: `End it: kill -KILL ${pid}, pods keep running; kubelet-ts down ends its pods too.`,
    });
  });
});
