import { once } from 'node:events';
import { request as askHTTPS } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { status as grpcStatus } from '@grpc/grpc-js';
import { WebSocket } from 'ws';
import { Refusal } from '../../fakes/fake-calls.ts';
import { comparingCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { openRig, recordedFlags } from './open-rig.ts';
import type { RecordedAgent } from './recorded-agent.ts';
import { writeLogs } from './recorded-pods.ts';
import { type Frame, frameOf, RecordedRuntime } from './recorded-runtime.ts';
import type { ServerFile } from './server-file.ts';
import { openSpdyRuntime } from './spdy-runtime.ts';

/** A stream through the kubelet, or a plain request, and what the client got of the runtime. */
interface StreamCase {
  name: string;
  url?: string;
  /** WebSocket protocols, or the one of SPDY; null for none. */
  offered?: string[] | string | null;
  status?: number;
  headers?: Record<string, string> | [string, string][];
  body?: string;
  negotiated?: string;
  /** Messages of the client, in hexadecimal. */
  sent?: string[];
  frames?: Frame[];
  close?: number;
  /** In place of frames of a long output. */
  bytesByChannel?: Record<string, number>;
  stillOpenAfterSeconds?: number;
}

const manifest = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers:
  - {name: a, image: "registry.example/present:1"}
  - {name: b, image: "registry.example/present:1", tty: true, stdin: true}
`;

const doneManifest = `apiVersion: v1
kind: Pod
metadata: {name: done, namespace: default}
spec: {restartPolicy: Never, containers: [{name: d, image: "registry.example/present:1", command: [/fake, "exit:0:1"]}]}
`;

/** Streams of a containerd through the kubelet. The runtime answers as it was recorded: the kubelet passes it on. */
export const streamsFile: ServerFile = {
  holds: (content) => 'cases' in content && Array.isArray(content.cases) && content.cases.some(hasFrames),
  replay: (content) => {
    const { cases } = content as { cases: StreamCase[] };
    const rig = openRig(
      { flags: recordedFlags, manifests: { 'web.yaml': manifest, 'done.yaml': doneManifest } },
      { isReady: ({ engine }) => engine.isReady('web-edge1') && engine.phase('done-edge1') === 'Succeeded' },
    );
    return {
      cases: cases.map((one) =>
        comparingCase(one.name, inNoTable(one), async () => ({
          expected: answerOf(one),
          actual: await replay(one, rig.agent),
        })),
      ),
      end: () => rig.end(),
    };
  },
};

const hasFrames = (one: unknown): boolean => typeof one === 'object' && one !== null && 'frames' in one;

/** The part of a case that the client gets. */
function answerOf(one: StreamCase): unknown {
  const asked = new Set(['name', 'url', 'offered', 'upgraded', 'bytes']);
  const shown = Object.fromEntries(Object.entries(one).filter(([key]) => !asked.has(key)));
  return one.frames === undefined ? shown : { ...shown, frames: joined(one.frames) };
}

async function replay(one: StreamCase, started: () => Promise<RecordedAgent>): Promise<unknown> {
  const agent = await started();
  if (one.url === undefined) return one.headers === undefined ? runCommand(one, agent) : readLogs(agent);
  const isTranslated = one.offered?.includes('v5.channel.k8s.io') === true;
  // A runtime that lacks it refused it to a kubelet 1.32.
  if (isTranslated && one.status !== 403) return translated(one, agent);
  const runtime = await RecordedRuntime.open(one);
  agent.world.runtime.scriptStreams(() => runtime.url);
  try {
    return Array.isArray(one.offered) ? await webSocket(one, agent) : await spdy(one, agent);
  } finally {
    runtime.close();
  }
}

/** A WebSocket that the agent answers itself. */
async function translated(one: StreamCase, agent: RecordedAgent): Promise<unknown> {
  const { url = '', sent = [], frames = [], bytesByChannel = {} } = one;
  const runtime = await openSpdyRuntime({ url, sent, frames, bytesByChannel });
  agent.world.runtime.scriptStreams(() => `http://127.0.0.1:${runtime.port}/stream/token`);
  try {
    return await webSocket(one, agent);
  } finally {
    await runtime.close();
  }
}

async function webSocket(one: StreamCase, { ports }: RecordedAgent): Promise<unknown> {
  const { url = '', offered, sent = [], stillOpenAfterSeconds, bytesByChannel } = one;
  const client = new WebSocket(`wss://127.0.0.1:${ports.secure}${url}`, offered ?? [], { rejectUnauthorized: false });
  const frames: Frame[] = [];
  const open = new Promise<object>((resolve) => {
    client.on('message', (data: Buffer, isBinary) => {
      addFrame(frames, frameOf(data, isBinary));
      if (stillOpenAfterSeconds !== undefined && isDeepStrictEqual(frames, one.frames)) {
        resolve({ negotiated: client.protocol, sent, frames, stillOpenAfterSeconds });
      }
    });
  });
  const refused = new Promise<{ status: number; body: string }>((resolve) => {
    client.once('unexpected-response', (_request, response: IncomingMessage) => {
      void text(response).then((body) => {
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
  });
  client.on('error', () => undefined);
  client.once('open', () => {
    for (const message of sent) client.send(Buffer.from(message, 'hex'));
  });
  const closed = once(client, 'close').then(([close]) => ({
    negotiated: client.protocol,
    sent,
    ...(bytesByChannel ? { bytesByChannel: lengthsOf(frames) } : { frames }),
    close: Number(close),
  }));
  try {
    return await Promise.race([refused, closed, open]);
  } finally {
    client.terminate();
  }
}

function joined(frames: readonly Frame[]): Frame[] {
  const all: Frame[] = [];
  for (const frame of frames) addFrame(all, { ...frame });
  return all;
}

/** Frames of one channel that follow each other are one, except for an empty first one. */
function addFrame(frames: Frame[], frame: Frame): void {
  const last = frames.at(-1);
  if (last?.channel !== frame.channel || last.text === '') frames.push(frame);
  else last.text += frame.text;
}

function lengthsOf(frames: readonly Frame[]): Record<string, number> {
  const lengths: Record<string, number> = {};
  for (const { channel, text } of frames) lengths[channel] = (lengths[channel] ?? 0) + text.length;
  return lengths;
}

async function spdy({ url = '', offered, headers }: StreamCase, { ports }: RecordedAgent): Promise<unknown> {
  const protocol = typeof offered === 'string' ? { 'X-Stream-Protocol-Version': offered } : {};
  const asked = askHTTPS({
    ...{ port: ports.secure, path: url, method: 'POST', rejectUnauthorized: false, agent: false },
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', ...protocol },
  });
  asked.end();
  const [answer] = (await Promise.race([once(asked, 'upgrade'), once(asked, 'response')])) as [IncomingMessage];
  const got = Object.fromEntries(
    Object.keys(headers ?? {}).map((name) => [name, String(answer.headers[name.toLowerCase()])]),
  );
  const status = answer.statusCode ?? 0;
  if (status !== 101) return { status, headers: got, body: await text(answer) };
  answer.socket.destroy();
  return { status, headers: got };
}

/** Runs a command that ends in the runtime as the recorded answer says. */
async function runCommand({ status, body = '' }: StreamCase, agent: RecordedAgent): Promise<unknown> {
  const [, code = '', problem] = /^rpc error: code = (\w+) desc = ([^]*)$/.exec(body) ?? [];
  const [, cmd = '/nosuch', exitCode, stderr = ''] = /^command '([^]*?)' exited with (\d+): ([^]*)$/.exec(body) ?? [];
  agent.world.runtime.scriptExec(() => {
    if (problem !== undefined) throw new Refusal(codeOf(code), problem);
    if (exitCode !== undefined) return { exitCode: Number(exitCode), stderr: Buffer.from(stderr) };
    return { exitCode: 0, stdout: Buffer.from(status === 200 ? body : '') };
  });
  const answer = await ask(agent, 'POST', `/run/default/web-edge1/a?cmd=${encodeURIComponent(cmd)}`);
  return { status: answer.statusCode, body: await text(answer) };
}

/** The number of a code of gRPC that Go names, such as `NotFound`. */
function codeOf(name: string): number {
  const constant = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  return (grpcStatus as unknown as Record<string, number>)[constant] ?? grpcStatus.UNKNOWN;
}

async function readLogs(agent: RecordedAgent): Promise<unknown> {
  const line = (word: string): string => `2024-01-02T03:04:05.000000000Z stdout F ${word}\n`;
  await writeLogs(agent, { 'web-edge1/a': `${line('one')}${line('two')}` });
  const answer = await ask(agent, 'GET', '/containerLogs/default/web-edge1/a?timestamps=true');
  const { rawHeaders } = answer;
  const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
  const headers = pairs.map(([name = '', value]) => [name, name === 'Date' ? '{httpTime}' : value]);
  const body = (await text(answer)).replaceAll(/^\S+Z /gm, '{time} ');
  return { status: answer.statusCode, headers: headers.toSorted(byName), body };
}

const byName = ([a = '']: (string | undefined)[], [b = '']: (string | undefined)[]): number =>
  order.indexOf(a) - order.indexOf(b);
/** The order of the recorded headers, which Go and Node choose. */
const order = ['Date', 'Connection', 'Transfer-Encoding'];

async function ask({ ports }: RecordedAgent, method: string, path: string): Promise<IncomingMessage> {
  const headers = { Connection: 'close' };
  const asked = askHTTPS({ port: ports.secure, path, method, headers, rejectUnauthorized: false, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer;
}
