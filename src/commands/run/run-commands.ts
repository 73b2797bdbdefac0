import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultRootDir, rootDirNamed } from '../../files/root-dir.ts';
import type { ScreenCommands } from '../../tui/screen-commands.ts';
import { ownArguments } from '../../process/own-program.ts';
import { stopWithScreenVariable } from './stop-with-screen.ts';

/**
 * The flags that make a command use the same agent and runtime. --root-dir is left out only for the default without the
 * environment variable, because that may be set only for this process.
 */
export function runtimeFlags(node: { rootDir: string; runtimeEndpoint: string | undefined }): string[] {
  const { rootDir, runtimeEndpoint } = node;
  return [
    ...(rootDir === defaultRootDir && isDefaultInEnvironment() ? [] : ['--root-dir', rootDir]),
    ...(runtimeEndpoint === undefined ? [] : ['--container-runtime-endpoint', runtimeEndpoint]),
  ];
}

const isDefaultInEnvironment = (): boolean => rootDirNamed(process.env['KUBELET_TS_ROOT_DIR'] ?? '') === defaultRootDir;

/** Runs this program again for commands of the screen. */
export function screenCommands(flags: readonly string[]): ScreenCommands {
  const run = (args: readonly string[], options: SpawnOptions): ChildProcess =>
    spawn(process.execPath, [...ownArguments(), ...args], options);
  return {
    flags,
    start: (args, onOutput) => {
      const env = { ...process.env, [stopWithScreenVariable]: '1' };
      // Uses a new session, so that keys typed for a command on the terminal do not stop it.
      const child = run(args, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env, detached: true });
      for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onOutput);
      return { ended: exitCodeOf(child, 'close', onOutput), end: () => child.kill('SIGTERM') };
    },
    onTerminal: async (args) => {
      // With a terminal, the container's output comes on stdout, so stderr has only messages of the command itself.
      const child = run(args, { stdio: ['inherit', 'inherit', 'pipe'] });
      let message = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        process.stderr.write(text);
        message = (message + text).slice(-maxMessage);
      });
      const exitCode = await exitCodeOf(child, 'close');
      return { exitCode, message: firstError(message) };
    },
    save: async (name, text) => {
      const path = resolve(name);
      await writeFile(path, text, { mode: 0o600, flag: 'wx' });
      return path;
    },
  };
}

const maxMessage = 4096;

/** The error of a command on one line, without its hint. */
function firstError(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.find((line) => line.startsWith('error: ')) ?? lines.findLast((line) => line !== '') ?? '';
}

function exitCodeOf(child: ChildProcess, event: 'close' | 'exit', onError?: (text: string) => void): Promise<number> {
  return new Promise((done) => {
    child.once('error', (error) => {
      onError?.(`error: ${error.message}\n`);
      done(1);
    });
    child.once(event, (code: number | null, signal: NodeJS.Signals | null) => {
      done(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
