import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { afterEach, expect, test } from 'vitest';
import { register as registerAttach } from '../../src/commands/attach.ts';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { startStreamingServer, type Session, type StreamingServer } from '../cri/streaming/streaming-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from './runtime-listings.ts';

let server: StreamingServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function attach(
  onSession: (session: Session) => void,
  words: readonly string[],
  changes: Partial<CommandDeps> = {},
  declared?: object,
): Promise<ReturnType<typeof makeDeps>['printed']> {
  server = await startStreamingServer({ spdy: true }, onSession);
  const execUrl = `http://127.0.0.1:${String(server.port)}/attach/token`;
  const runtime = makeRuntime([makeSandbox({ name: 'web' })], [makeContainer({ id: 'app-0', name: 'app' })], {
    execUrl,
  });
  const deps = makeDeps(runtime, changes);
  const program = new Command();
  registerAttach(program, deps);
  const rootDir = await temporaryFolder();
  if (declared !== undefined) {
    const entry = makeEntry('web');
    const pods = [{ ...entry, pod: { ...entry.pod, spec: { containers: [{ name: 'app', ...declared }] } } }];
    await startFakeAgent(rootDir, { '/v1/snapshot': { nodeName: 'edge1', pods } });
  }
  await program.parseAsync(['attach', '--root-dir', rootDir, ...words], { from: 'user' });
  return deps.printed;
}

test('shows the output until the container ends', async () => {
  const printed = await attach(
    (session) => {
      session.send('stdout', 'out\n');
      session.send('stderr', 'err\n');
      session.exit(0);
    },
    ['web'],
  );
  expect(printed).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 0 });
});

test('the reason of the runtime is the error', async () => {
  const refused = attach(
    (session) => {
      session.send('error', JSON.stringify({ status: 'Failure', message: 'container is gone' }));
    },
    ['web'],
  );
  await expect(refused).rejects.toThrow('cannot attach to the container: container is gone');
});

test('Ctrl-C reaches the container, the detach keys leave it, and the terminal is as it was', async () => {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) });
  let received = '';
  const printed = await attach(
    (session) => {
      stdin.push('ls\x03\r');
      session.received = (_stream, bytes) => {
        received += bytes.toString();
        if (received === 'ls\x03\r') stdin.push('\x10\x11exit\r');
      };
    },
    ['-it', 'web'],
    { stdin },
  );
  expect(printed).toEqual({
    stdout: '',
    stderr: 'Attached to container app. ctrl-p,ctrl-q detaches. Press Enter to see a prompt.\n',
    exitCode: 0,
  });
  expect({ received, modes }).toEqual({ received: 'ls\x03\r', modes: [true, false] });
});

test('with other detach keys the usual ones reach the container', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  let received = '';
  const { exitCode } = await attach(
    (session) => {
      stdin.push('\x10\x11');
      session.received = (_stream, bytes) => {
        received += bytes.toString();
        if (received === '\x10\x11') stdin.push('\x18d');
      };
    },
    ['-it', 'web', '--detach-keys', 'ctrl-x,d'],
    { stdin },
  );
  expect({ received, exitCode }).toEqual({ received: '\x10\x11', exitCode: 0 });
});

test('a container without stdin and a terminal in its manifest gets none, with warnings', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  let streams: readonly string[] = [];
  const { stderr } = await attach(
    (session) => {
      streams = session.streams;
      session.exit(0);
    },
    ['-it', 'web'],
    { stdin },
    { image: 'app:1' },
  );
  expect(stderr).toBe(
    'warning: container app has no stdin: true in its manifest\nwarning: container app has no tty: true in its manifest\n',
  );
  expect([...streams].sort()).toEqual(['error', 'stderr', 'stdout']);
});
