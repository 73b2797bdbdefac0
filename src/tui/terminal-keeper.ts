import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { restoreSequence } from './terminal.ts';

/** Restores the terminal after a screen that is killed with SIGKILL. */
export interface TerminalKeeper {
  /** The screen has the terminal. */
  hold(): void;
  /** The screen has restored the terminal. */
  release(): void;
}

/** What raw mode of Node turns off. The keys of the user, such as that of erase, stay. */
const cookedMode = 'brkint icrnl ixon icanon iexten isig echo';

/**
 * Waits for the end of the screen, whose last line says if it had the terminal. The line that it prints is for a prompt
 * that came before.
 */
const script = `
trap '' HUP INT QUIT TERM
while read -r word; do state=$word; done
if [ "$state" = held ]; then
  stty ${cookedMode} <&1 2>/dev/null
  printf '%b' '${restoreSequence.replaceAll('\u001b', String.raw`\0033`)}\\r\\nkubelet-ts: the screen was killed\\r\\n'
fi`;

/**
 * A shell in its own session, so that no signal of the terminal ends it. Starts after the first frame. Does nothing
 * without `sh`.
 */
export function terminalKeeper(): TerminalKeeper {
  let shell: ChildProcessByStdio<Writable, null, null> | undefined;
  const say = (word: string): void => {
    shell?.stdin.write(`${word}\n`);
  };
  return {
    hold: () => {
      shell ??= startShell();
      say('held');
    },
    release: () => {
      say('released');
    },
  };
}

function startShell(): ChildProcessByStdio<Writable, null, null> {
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'inherit', 'ignore'], detached: true });
  shell.on('error', () => undefined).unref();
  shell.stdin.on('error', () => undefined);
  // The screen ends this pipe by its end, and does not wait for it.
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  return shell;
}
