import { hasCode } from '../../errors.ts';
import type { SessionStreams } from '../../cri/streaming/container-session.ts';
import type { CommandDeps } from './deps.ts';
import { openTerminal } from './terminal.ts';

/** A shell's exit code for a process killed by SIGPIPE, as kubectl is. */
const brokenPipeExitCode = 141;

/**
 * Runs a session on the streams of this program, with its terminal if `tty` is wanted and stdin is one. Resolves with
 * the exit code of `session`, or that of the signal or closed output that stopped it. Restores the terminal.
 */
export async function inTerminal(
  deps: CommandDeps,
  wanted: { stdin: boolean; tty: boolean },
  session: (streams: SessionStreams) => Promise<number>,
): Promise<number> {
  const terminal = openTerminal(deps, wanted);
  // Each write reports the error of its stream.
  for (const stream of [deps.stdout, deps.stderr]) stream.on('error', () => undefined);
  try {
    return await session({
      stdout: deps.stdout,
      stderr: deps.stderr,
      ...(wanted.stdin ? { stdin: deps.stdin } : {}),
      ...terminal.sessionStreams,
    });
  } catch (error) {
    if (hasCode(error, 'EPIPE')) return brokenPipeExitCode;
    if (terminal.exitCode !== undefined) return terminal.exitCode;
    throw error;
  } finally {
    terminal.close();
  }
}
