import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openSpdy } from '../../src/cri/streaming/spdy-connection.ts';
import type { StreamConnection } from '../../src/cri/streaming/stream-connection.ts';
import { openWebSocket } from '../../src/cri/streaming/websocket-connection.ts';
import { type Agent, nodeName, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { freePorts } from './free-ports.ts';
import { makePod, serve, shell } from './manifests.ts';

type Way = 'SPDY' | 'WebSocket' | 'WebSocket v5';
/** The agent passes on the first two, and translates the third for the runtime. */
const ways: Way[] = ['SPDY', 'WebSocket', 'WebSocket v5'];

/** Channels of exec and attach, by number. */
const streams = ['stdin', 'stdout', 'stderr', 'error', 'resize'];
const [stdin, stdout, stderr, error, resize] = [0, 1, 2, 3, 4] as const;

// The newest release alone, because the agent passes the bytes on.
describe.each(containerdReleases().slice(-1))('streams of the HTTPS API on containerd $release', (containerd) => {
  let folder: string;
  let agent: Agent;
  let address: string;
  let echoPort: number;

  beforeAll(async () => {
    const [apiPort = 0, podPort = 0] = await freePorts(2);
    folder = await mkdtemp(join(tmpdir(), 'https-streams-'));
    const policy = join(folder, 'policy.yaml');
    const rule = { groups: ['system:unauthenticated'], verbs: ['*'], resources: ['nodes/proxy'] };
    await writeFile(policy, JSON.stringify({ rules: [rule] }));
    const echo = `busybox nc -ll -p ${podPort} -e cat & ${serve}`;
    const containers = [shell('app', echo), shell('tool', 'exec sh', { stdin: true, tty: true })];
    agent = await startAgent({
      containerd,
      manifests: { 'web.yaml': makePod('web', { containers }) },
      flags: [
        ...['--address', '127.0.0.1', '--port', String(apiPort), '--anonymous-auth=true'],
        ...['--authorization-policy-file', policy],
      ],
    });
    await agent.untilReady('web');
    address = `https://127.0.0.1:${apiPort}`;
    echoPort = podPort;
  });
  afterAll(async () => {
    await agent.cleanUp();
    await rm(folder, { recursive: true });
  });

  /** Opens these streams of a container. */
  async function open(way: Way, path: string, channels: readonly number[]): Promise<StreamConnection> {
    const url = new URL(`${address}${path}`);
    const connection =
      way !== 'SPDY'
        ? await openWebSocket(url, [way === 'WebSocket' ? 'v4.channel.k8s.io' : 'v5.channel.k8s.io'])
        : await openSpdy(url, {
            protocols: ['v4.channel.k8s.io'],
            streams: [...channels, error].map((channel) => ({
              channel,
              headers: { streamtype: streams[channel] ?? '' },
            })),
          });
    onTestFinished(() => {
      connection.close();
    });
    return connection;
  }

  test.each(ways)('exec over %s takes input, and brings output, errors and the exit code', async (way) => {
    // WebSocket cannot end the input of a command in this version of its protocol.
    const read = way === 'WebSocket' ? 'head -c 1000000' : 'cat';
    const script = encodeURIComponent(`${read}; echo all read >&2; exit 3`);
    const query = `command=sh&command=-c&command=${script}&input=1&output=1&error=1`;
    const connection = await open(way, `/exec/default/web-${nodeName}/app?${query}`, [stdin, stdout, stderr]);
    const sent = randomBytes(1_000_000);
    const sending = connection.send(stdin, sent).then(() => {
      connection.end(stdin);
    });
    const got = await bytesByChannel(connection);
    await sending;
    const status = JSON.parse(got(error).toString()) as { reason: string; details: { causes: { message: string }[] } };
    expect({
      isSame: got(stdout).equals(sent),
      stderr: got(stderr).toString(),
      reason: status.reason,
      exitCode: status.details.causes[0]?.message,
    }).toEqual({ isSame: true, stderr: 'all read\n', reason: 'NonZeroExitCode', exitCode: '3' });
  });

  test.each(ways)('attach over %s types into the terminal of a container, which continues after it', async (way) => {
    const query = 'input=1&output=1&tty=1';
    const connection = await open(way, `/attach/default/web-${nodeName}/tool?${query}`, [stdin, stdout, resize]);
    await connection.send(stdin, Buffer.from(`echo sum of ${way} $((40 + 2))\n`));
    let screen = '';
    for await (const message of connection.messages) {
      if (message.type === 'data' && message.channel === stdout) screen += message.bytes.toString();
      if (screen.includes(`\nsum of ${way} 42\r\n`)) break;
    }
    const { pod } = await agent.untilReady('web');
    expect(pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  });

  test.each(ways.slice(0, 2))('a port that is forwarded over %s carries bytes both ways', async (way) => {
    const url = new URL(`${address}/portForward/default/web-${nodeName}?port=${echoPort}`);
    const headers = { port: String(echoPort), requestid: '0' };
    const connection =
      way === 'WebSocket'
        ? await openWebSocket(url, ['v4.channel.k8s.io'])
        : await openSpdy(url, {
            protocols: ['portforward.k8s.io'],
            streams: [
              { channel: 1, headers: { ...headers, streamtype: 'error' } },
              { channel: 0, headers: { ...headers, streamtype: 'data' } },
            ],
          });
    onTestFinished(() => {
      connection.close();
    });
    const sent = randomBytes(500_000);
    const sending = connection.send(0, sent);
    // Over WebSocket a channel begins with the number of its port.
    const expected = way === 'WebSocket' ? Buffer.concat([portNumber(echoPort), sent]) : sent;
    const parts: Buffer[] = [];
    let length = 0;
    for await (const message of connection.messages) {
      if (message.type !== 'data' || message.channel !== 0) continue;
      parts.push(message.bytes);
      length += message.bytes.length;
      if (length >= expected.length) break;
    }
    await sending;
    expect(Buffer.concat(parts).equals(expected)).toBe(true);
  });

  test('a command that does not exist is reported on the error stream', async () => {
    const query = 'command=/nosuch&output=1';
    const connection = await open('SPDY', `/exec/default/web-${nodeName}/app?${query}`, [stdout]);
    const status = JSON.parse((await bytesByChannel(connection))(error).toString()) as { message: string };
    expect(status.message).toContain('"/nosuch": stat /nosuch: no such file or directory');
  });
});

/** All that came until the runtime has ended the connection, or reported the end of the command. */
async function bytesByChannel(connection: StreamConnection): Promise<(channel: number) => Buffer> {
  const parts = new Map<number, Buffer[]>();
  for await (const message of connection.messages) {
    if (message.type !== 'data') continue;
    parts.set(message.channel, [...(parts.get(message.channel) ?? []), message.bytes]);
    if (message.channel === error && message.bytes.length > 0) break;
  }
  return (channel) => Buffer.concat(parts.get(channel) ?? []);
}

function portNumber(port: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(port);
  return bytes;
}
