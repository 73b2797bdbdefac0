import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { afterEach, expect, test } from 'vitest';
import { register as registerAttach } from '../../src/commands/attach.ts';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { startStreamingServer, type Session, type StreamingServer } from '../cri/streaming/streaming-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
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
): Promise<ReturnType<typeof makeDeps>['printed']> {
  server = await startStreamingServer({ spdy: true }, onSession);
  const execUrl = `http://127.0.0.1:${String(server.port)}/attach/token`;
  const runtime = makeRuntime([makeSandbox({ name: 'web' })], [makeContainer({ id: 'app-0', name: 'app' })], {
    execUrl,
  });
  const deps = makeDeps(runtime, changes);
  const program = new Command();
  registerAttach(program, deps);
  await program.parseAsync(['attach', '--root-dir', await temporaryFolder(), ...words], { from: 'user' });
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

test('the detach keys leave the container, and the terminal is as it was', async () => {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) });
  let received = '';
  const printed = await attach(
    (session) => {
      stdin.push('ls\r');
      session.received = (_stream, bytes) => {
        received += bytes.toString();
        if (received === 'ls\r') stdin.push('\x10\x11exit\r');
      };
    },
    ['-it', 'web'],
    { stdin },
  );
  expect(printed).toEqual({
    stdout: '',
    stderr: 'Attached to container app. ctrl-p,ctrl-q leaves it. Enter may show a prompt.\n',
    exitCode: 0,
  });
  expect({ received, modes }).toEqual({ received: 'ls\r', modes: [true, false] });
});
