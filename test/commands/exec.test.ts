import { PassThrough, Writable } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommandDeps, InputStream, OutputStream } from '../../src/commands/io/deps.ts';
import { register as registerExec } from '../../src/commands/exec.ts';
import { openTerminal } from '../../src/commands/io/terminal.ts';
import { startStreamingServer, type Session, type StreamingServer } from '../cri/streaming/streaming-server.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from './runtime-listings.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let rootDir: string;
let server: StreamingServer | undefined;

beforeEach(async () => {
  rootDir = await temporaryFolder();
});
afterEach(async () => {
  await server?.close();
});

async function makeExecDeps(
  onSession: (session: Session) => void,
  changes: Partial<CommandDeps> = {},
): Promise<ReturnType<typeof makeDeps>> {
  server = await startStreamingServer({ spdy: true }, onSession);
  const containers = [
    makeContainer({ id: 'app-0', name: 'app', createdAt: 2n }),
    makeContainer({ id: 'done-0', name: 'done', createdAt: 1n, state: 'CONTAINER_EXITED' }),
  ];
  const execUrl = `http://127.0.0.1:${String(server.port)}/exec/token`;
  return makeDeps(makeRuntime([makeSandbox({ name: 'web' })], containers, { execUrl }), changes);
}

async function exec(deps: CommandDeps, ...args: string[]): Promise<void> {
  const program = new Command();
  registerExec(program, deps);
  await program.parseAsync(['exec', '--root-dir', rootDir, ...args], { from: 'user' });
}

/** A terminal that remembers each mode it was set to. */
function makeTerminal(): { stdin: InputStream; stdout: OutputStream; modes: boolean[] } {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => {
      modes.push(raw);
    },
  });
  const stdout = Object.assign(new PassThrough().resume(), { isTTY: true, columns: 80, rows: 24 });
  return { stdin, stdout, modes };
}

describe('exec', () => {
  test('passes output and the exit code on', async () => {
    const deps = await makeExecDeps((session) => {
      session.send('stdout', 'out\n');
      session.send('stderr', 'err\n');
      session.exit(7);
    });
    await exec(deps, 'web', '-c', 'app', '--', 'sh', '-c', 'exit 7');
    expect(deps.printed).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 });
  });

  test('passes stdin on only with -i', async () => {
    const stdin = new PassThrough();
    stdin.end('input');
    const echo = (session: Session): void => {
      if (!session.streams.includes('stdin')) session.exit(1);
      session.received = (_stream, bytes) => {
        if (bytes === 'end') session.exit(0);
        else session.send('stdout', bytes);
      };
    };
    const deps = await makeExecDeps(echo, { stdin });
    await exec(deps, 'web', '-c', 'app', '--', 'cat');
    expect(deps.printed).toEqual({ stdout: '', stderr: '', exitCode: 1 });
    await exec(deps, '-i', 'web', '-c', 'app', '--', 'cat');
    expect(deps.printed).toEqual({ stdout: 'input', stderr: '', exitCode: 0 });
  });

  test.each([
    [['web', 'ls', '-i', '/'], '-i', 'kubelet-ts exec --root-dir ROOT web -- ls -i /'],
    [['-it', 'web', '-c', 'app', 'ls', '-la'], '-la', 'kubelet-ts exec --root-dir ROOT -it web -c app -- ls -la'],
    [['-itc', 'app', 'web', 'a b', '--x'], '--x', "kubelet-ts exec --root-dir ROOT -itc app web -- 'a b' --x"],
    [['web', 'ls', '-i', '--', '/'], '-i', 'kubelet-ts exec --root-dir ROOT web -- ls -i -- /'],
  ])('refuses flags that could be of the command: %j', async (words, flag, line) => {
    const deps = await makeExecDeps(() => undefined);
    await expect(exec(deps, ...words)).rejects.toMatchObject({
      name: 'UserError',
      message: `${flag} follows the command without --, so it could be for either program`,
      hint: `If it is for the command: ${line.replace('ROOT', rootDir)}. Otherwise write it before the command.`,
    });
  });

  test('passes a command without flags on, also without --', async () => {
    const deps = await makeExecDeps((session) => {
      session.exit(0);
    });
    await exec(deps, 'web', '-c', 'app', 'cat', '-');
    expect(deps.printed.exitCode).toBe(0);
  });

  test('reports that stdin is not a terminal and continues without one', async () => {
    const deps = await makeExecDeps((session) => {
      session.exit(session.streams.includes('resize') ? 1 : 0);
    });
    await exec(deps, '-it', 'web', '-c', 'app', '--', 'sh');
    expect(deps.printed).toEqual({
      stdout: '',
      stderr: 'Unable to use a TTY - input is not a terminal or the right kind of file\n',
      exitCode: 0,
    });
  });

  test('passes keys and sizes of the terminal on and puts it back at the end', async () => {
    const { stdin, stdout, modes } = makeTerminal();
    const received: string[] = [];
    const deps = await makeExecDeps(
      (session) => {
        session.received = (stream, bytes) => {
          received.push(`${stream} ${bytes.toString()}`);
          if (received.length === 1) {
            Object.assign(stdout, { columns: 132, rows: 43 });
            stdout.emit('resize');
          } else if (received.length === 2) stdin.push('\x03');
          else session.exit(130);
        };
      },
      { stdin, stdout },
    );
    await exec(deps, '-it', 'web', '-c', 'app', '--', 'sh');
    expect(received).toEqual(['resize {"Width":80,"Height":24}', 'resize {"Width":132,"Height":43}', 'stdin \x03']);
    expect(deps.printed.exitCode).toBe(130);
    expect(modes).toEqual([true, false]);
  });

  test('puts the terminal back when the connection is lost', async () => {
    const { stdin, stdout, modes } = makeTerminal();
    const deps = await makeExecDeps(
      (session) => {
        session.drop();
      },
      { stdin, stdout },
    );
    await expect(exec(deps, '-it', 'web', '-c', 'app', '--', 'sh')).rejects.toThrow('lost the connection');
    expect(modes).toEqual([true, false]);
  });

  test('ends quietly when nobody reads the output', async () => {
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
      },
    });
    const deps = await makeExecDeps(
      (session) => {
        session.send('stdout', 'out');
      },
      { stdout },
    );
    await exec(deps, 'web', '-c', 'app', '--', 'yes');
    expect(deps.printed.exitCode).toBe(141);
  });

  test('says that a container does not run', async () => {
    const deps = await makeExecDeps(() => undefined);
    await expect(exec(deps, 'web', '-c', 'done', '--', 'sh')).rejects.toThrow(
      'container "done" of pod default/web is not running',
    );
  });
});

test('a signal that ends the session has the exit code of a shell', () => {
  const { stdin, stdout, modes } = makeTerminal();
  const terminal = openTerminal(makeDeps(makeRuntime([], []), { stdin, stdout }), { stdin: true, tty: true });
  process.emit('SIGTERM', 'SIGTERM');
  expect(terminal.sessionStreams.signal?.aborted).toBe(true);
  expect(terminal.exitCode).toBe(143);
  terminal.close();
  expect(modes).toEqual([true, false]);
});
