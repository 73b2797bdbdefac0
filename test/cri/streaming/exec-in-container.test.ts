import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable, Writable } from 'node:stream';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { execInContainer, type ExecOptions } from '../../../src/cri/streaming/exec-in-container.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { startStreamingServer, type Session, type StreamingServer } from './streaming-server.ts';

let server: StreamingServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A runtime whose streaming server speaks `speaks`; every Exec gives a URL of its own. */
async function runtimeThatSpeaks(
  speaks: Parameters<typeof startStreamingServer>[0],
  onSession: (session: Session) => void,
): Promise<Pick<RuntimeService, 'exec'> & { requests: unknown[] }> {
  const { port } = (server = await startStreamingServer(speaks, onSession));
  const requests: unknown[] = [];
  return {
    requests,
    exec: (request) => {
      requests.push(request);
      return Promise.resolve({ url: `http://127.0.0.1:${String(port)}/exec/${String(requests.length)}` });
    },
  };
}

function collector(): Writable & { text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return Object.assign(stream, { text: () => Buffer.concat(chunks).toString() });
}

async function run(
  runtime: Pick<RuntimeService, 'exec'>,
  options: Partial<ExecOptions> = {},
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [collector(), collector()];
  const exitCode = await execInContainer(runtime, { containerID: 'c1', command: ['cat'], stdout, stderr, ...options });
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

/** Sends stdin back and exits with 3 at its end, as `sh -c 'cat; exit 3'` does. */
function echo(session: Session): void {
  session.received = (stream, bytes) => {
    if (stream !== 'stdin') return;
    if (bytes === 'end') session.exit(3);
    else session.send('stdout', bytes);
  };
}

const protocols = [
  { name: 'SPDY', speaks: { spdy: true } },
  { name: 'WebSocket v5', speaks: { webSocket: ['v5.channel.k8s.io'] } },
];

describe.each(protocols)('over $name', ({ speaks }) => {
  test('keeps stdout and stderr apart and passes the exit code on', async () => {
    const runtime = await runtimeThatSpeaks(speaks, (session) => {
      session.send('stdout', 'out');
      session.send('stderr', 'err');
      session.exit(7);
    });
    expect(await run(runtime)).toEqual({ exitCode: 7, stdout: 'out', stderr: 'err' });
  });

  test('ends the stdin of the command and still reads its output', async () => {
    const runtime = await runtimeThatSpeaks(speaks, echo);
    const stdin = Readable.from([Buffer.from('hello '), Buffer.from('world')]);
    expect(await run(runtime, { stdin })).toEqual({ exitCode: 3, stdout: 'hello world', stderr: '' });
  });

  test('an abort ends the session even if stdout takes no more', async () => {
    const runtime = await runtimeThatSpeaks(speaks, (session) => {
      session.send('stdout', 'out');
    });
    const left = new AbortController();
    const stdout = new Writable({
      write: () => {
        left.abort(new Error('left'));
      },
    });
    await expect(run(runtime, { stdout, signal: left.signal })).rejects.toThrow(new Error('left'));
  });

  test('ends an empty stdin', async () => {
    const runtime = await runtimeThatSpeaks(speaks, echo);
    expect(await run(runtime, { stdin: Readable.from([]) })).toEqual({ exitCode: 3, stdout: '', stderr: '' });
  });

  test('carries megabytes both ways, byte for byte', async () => {
    const runtime = await runtimeThatSpeaks(speaks, echo);
    const blocks = Array.from({ length: 8 }, (_, index) => Buffer.alloc(1_000_003, index));
    const hash = createHash('sha256');
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        hash.update(chunk);
        done();
      },
    });
    expect(await run(runtime, { stdin: Readable.from(blocks), stdout: stdout })).toMatchObject({ exitCode: 3 });
    expect(hash.digest('hex')).toBe(createHash('sha256').update(Buffer.concat(blocks)).digest('hex'));
  });

  test('sends the sizes of the terminal', async () => {
    const runtime = await runtimeThatSpeaks(speaks, (session) => {
      const sizes: string[] = [];
      session.received = (stream, bytes) => {
        if (stream !== 'resize') return;
        sizes.push(bytes.toString());
        if (sizes.length === 2) {
          session.send('stdout', sizes.join(' '));
          session.exit(0);
        }
      };
    });
    async function* resize(): AsyncGenerator<{ width: number; height: number }> {
      yield { width: 80, height: 24 };
      yield await Promise.resolve({ width: 132, height: 43 });
    }
    const { stdout } = await run(runtime, { tty: true, stdin: new PassThrough(), resize: resize() });
    expect(stdout).toBe('{"Width":80,"Height":24} {"Width":132,"Height":43}');
  });

  test('says so when the connection is lost before the command ended', async () => {
    const runtime = await runtimeThatSpeaks(speaks, (session) => {
      session.drop();
    });
    await expect(run(runtime)).rejects.toThrow(/^lost the connection to the container before the command exited/);
  });

  test('rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const runtime = await runtimeThatSpeaks(speaks, () => {
      controller.abort(new Error('enough'));
    });
    await expect(run(runtime, { signal: controller.signal })).rejects.toThrow('enough');
  });

  test('rejects when the side that asked takes no more output', async () => {
    const runtime = await runtimeThatSpeaks(speaks, (session) => {
      session.send('stdout', 'out');
    });
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
      },
    }).on('error', () => undefined);
    await expect(run(runtime, { stdout })).rejects.toMatchObject({ code: 'EPIPE' });
  });
});

describe('the choice of protocol', () => {
  test('opens exactly the streams that Exec was asked for', async () => {
    const streams: string[][] = [];
    const runtime = await runtimeThatSpeaks({ spdy: true }, (session) => {
      streams.push([...session.streams]);
      session.exit(0);
    });
    await run(runtime);
    await run(runtime, { stdin: new PassThrough() });
    await run(runtime, { tty: true, stdin: new PassThrough() });
    expect(streams).toEqual([
      ['error', 'stdout', 'stderr'],
      ['error', 'stdin', 'stdout', 'stderr'],
      ['error', 'stdin', 'stdout', 'resize'],
    ]);
    expect(runtime.requests).toEqual([
      { containerId: 'c1', cmd: ['cat'], tty: false, stdin: false, stdout: true, stderr: true },
      { containerId: 'c1', cmd: ['cat'], tty: false, stdin: true, stdout: true, stderr: true },
      { containerId: 'c1', cmd: ['cat'], tty: true, stdin: true, stdout: true, stderr: false },
    ]);
  });

  test('asks for another URL when the first protocol is refused', async () => {
    const runtime = await runtimeThatSpeaks({ webSocket: ['v4.channel.k8s.io'] }, (session) => {
      session.exit(0);
    });
    expect(await run(runtime)).toMatchObject({ exitCode: 0 });
    expect(server?.requests).toEqual(['/exec/1 SPDY/3.1', '/exec/2 websocket']);
  });

  test('does not start a command whose stdin it could not end', async () => {
    let sessions = 0;
    const runtime = await runtimeThatSpeaks({ webSocket: ['v4.channel.k8s.io'] }, () => {
      sessions++;
    });
    await expect(run(runtime, { stdin: Readable.from([]) })).rejects.toThrow(
      'the container runtime refused to run the command: HTTP 403 Forbidden: no such protocol',
    );
    expect(sessions).toBe(0);
  });

  test('sends input to a terminal over a protocol that cannot end it', async () => {
    const runtime = await runtimeThatSpeaks({ webSocket: ['v4.channel.k8s.io'] }, (session) => {
      session.received = (stream, bytes) => {
        if (stream === 'stdin' && bytes.toString() === '\x04') session.exit(0);
      };
    });
    expect(await run(runtime, { tty: true, stdin: Readable.from([Buffer.from('\x04')]) })).toMatchObject({
      exitCode: 0,
    });
  });

  test('says which address does not answer', async () => {
    const unused = await startStreamingServer({}, () => undefined);
    await unused.close();
    const url = `http://127.0.0.1:${String(unused.port)}/exec/1`;
    await expect(run({ exec: () => Promise.resolve({ url }) })).rejects.toThrow(
      `connecting to the container runtime's streaming server at 127.0.0.1:${String(unused.port)}: connect ECONNREFUSED`,
    );
  });

  test('gives up on a server that does not open the streams within 30 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const silent = createServer().on('upgrade', (_request, socket) => {
      const headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
      socket.write(['HTTP/1.1 101 Switching Protocols', ...headers, '', ''].join('\r\n'));
      socket.once('data', () => vi.advanceTimersByTime(30_000)).on('error', () => undefined);
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void silent.close());
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/exec/1`;
    await expect(run({ exec: () => Promise.resolve({ url }) })).rejects.toThrow(
      'lost the connection to the container before the command exited: the streaming server did not open the streams',
    );
  });

  test('says so when the runtime answers with no usable URL', async () => {
    await expect(run({ exec: () => Promise.resolve({ url: '/exec/token' }) })).rejects.toThrow(
      'the container runtime was asked to run the command and answered "/exec/token", expected an http or https URL',
    );
  });
});
