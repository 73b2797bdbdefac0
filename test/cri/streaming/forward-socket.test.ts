import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { forwardSocket } from '../../../src/cri/streaming/forward-socket.ts';
import { openPort } from '../../../src/cri/streaming/open-port.ts';
import { startStreamingServer, type Session, type StreamingServer } from './streaming-server.ts';

let server: StreamingServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A client whose connection is forwarded to a port that `onSession` serves, and the end of the forwarding. */
async function forwarded(
  speaks: { spdy?: boolean; webSocket?: readonly string[] },
  onSession: (session: Session) => void,
): Promise<{ client: Socket; done: Promise<void>; asked: unknown[] }> {
  const { port } = (server = await startStreamingServer({ ...speaks, names: ['data', 'error'] }, onSession));
  const asked: unknown[] = [];
  const portForward = (request: unknown): Promise<{ url: string }> => {
    asked.push(request);
    return Promise.resolve({ url: `http://127.0.0.1:${String(port)}/portforward/token` });
  };
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  const client = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [socket] = (await once(listener, 'connection')) as [Socket];
  const connection = await openPort({ portForward }, { sandboxID: 's1', port: 80 });
  const done = forwardSocket(socket, connection);
  // Each test waits for it.
  done.catch(() => undefined);
  return { client, done, asked };
}

async function bytesOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function closePort(session: Session): void {
  session.end('data');
  session.end('error');
}

const protocols = [
  { name: 'SPDY', speaks: { spdy: true }, begin: () => undefined, finish: closePort },
  {
    name: 'WebSocket',
    speaks: { webSocket: ['v4.channel.k8s.io'] },
    // Each channel begins with the port, little-endian.
    begin: (session: Session) => {
      session.send('data', Buffer.of(80, 0));
      session.send('error', Buffer.of(80, 0));
    },
    finish: (session: Session) => {
      session.drop();
    },
  },
];

describe.each(protocols)('over $name', ({ speaks, begin, finish }) => {
  test('megabytes go to the port and come back as they are', async () => {
    const blocks = Array.from({ length: 8 }, (_, index) => Buffer.alloc(1_000_003, index));
    const all = Buffer.concat(blocks);
    let left = all.length;
    const { client, done, asked } = await forwarded(speaks, (session) => {
      begin(session);
      session.received = (stream, bytes) => {
        if (stream !== 'data' || bytes === 'end') return;
        session.send('data', bytes);
        left -= bytes.length;
        if (left === 0) finish(session);
      };
    });
    for (const block of blocks) client.write(block);
    const received = await bytesOf(client);
    client.end();
    // A server over WebSocket ends with the connection, which may be a reset.
    await done.catch(() => undefined);
    expect(createHash('sha256').update(received).digest('hex')).toBe(createHash('sha256').update(all).digest('hex'));
    expect(asked.at(-1)).toEqual({ podSandboxId: 's1', port: [80] });
  });

  test('the error of the runtime is reported, and the client sees a broken connection', async () => {
    const { client, done } = await forwarded(speaks, (session) => {
      begin(session);
      session.send('error', 'connect: connection refused');
      finish(session);
    });
    const failure = once(client, 'error');
    client.on('error', () => undefined).resume();
    await expect(done).rejects.toThrow('connect: connection refused');
    expect(await failure).toMatchObject([{ code: 'ECONNRESET' }]);
  });
});

describe('half-closed connections over SPDY', () => {
  test('the port sees the end of the client, and its later answer arrives', async () => {
    const { client, done } = await forwarded({ spdy: true }, (session) => {
      let text = '';
      session.received = (stream, bytes) => {
        if (stream !== 'data') return;
        if (bytes !== 'end') text += bytes.toString();
        else {
          session.send('data', `answer to ${text}`);
          closePort(session);
        }
      };
    });
    client.end('question');
    expect((await bytesOf(client)).toString()).toBe('answer to question');
    await done;
  });

  test('the client sees the end of the port, which still receives', async () => {
    let text = '';
    const { client, done } = await forwarded({ spdy: true }, (session) => {
      session.send('data', 'greeting');
      session.end('data');
      session.received = (stream, bytes) => {
        if (stream !== 'data') return;
        if (bytes !== 'end') text += bytes.toString();
        else session.end('error');
      };
    });
    expect((await bytesOf(client)).toString()).toBe('greeting');
    client.end('all the same');
    await done;
    expect(text).toBe('all the same');
  });

  test('an error of the runtime ends the connection, though its data stays open', async () => {
    const { client, done } = await forwarded({ spdy: true }, (session) => {
      session.send('error', 'connect: connection refused');
      session.end('error');
    });
    client.on('error', () => undefined).resume();
    await expect(done).rejects.toThrow('connect: connection refused');
  });

  test('the errors may end before the data', async () => {
    const { client, done } = await forwarded({ spdy: true }, (session) => {
      session.end('error');
      session.send('data', 'answer');
      session.end('data');
    });
    expect((await bytesOf(client)).toString()).toBe('answer');
    client.end();
    await done;
  });

  test('a lost connection is not an end for the client', async () => {
    const { client, done } = await forwarded({ spdy: true }, (session) => {
      session.send('data', 'a part');
      session.drop();
    });
    const failure = once(client, 'error');
    client.on('error', () => undefined).resume();
    await expect(done).rejects.toThrow('the container runtime closed the connection');
    expect(await failure).toMatchObject([{ code: 'ECONNRESET' }]);
  });
});
