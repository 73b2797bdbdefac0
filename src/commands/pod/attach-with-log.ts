import { isNotFound } from '../../cri/errors.ts';
import type { SessionStreams } from '../../cri/streaming/container-session.ts';
import type { CommandDeps } from '../io/deps.ts';
import { inTerminal } from '../io/in-terminal.ts';
import { type Attachment, attachInTerminal } from './attach-in-terminal.ts';
import type { OpenPod } from './open-pod.ts';
import { watchContainerExit } from './watch-container-exit.ts';
import type { Writable } from 'node:stream';
import { writeFully } from '../../cri/streaming/write-fully.ts';
import { readLogs } from '../../engine/logs/read-logs.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

/**
 * Like `attachInTerminal`, preceded by earlier output. If the container exits before it can be attached to, all its
 * output comes from its log.
 */
export async function attachWithLog(deps: CommandDeps, opened: OpenPod, attachment: Attachment): Promise<number> {
  const { runtime } = opened;
  const { id, name } = attachment.container;
  const { status } = await runtime.containerStatus({ containerId: id });
  const log = new LoggedOutput(status?.logPath ?? '');
  const print = (finished?: AbortSignal): Promise<number> => printing(deps, (streams) => log.print(streams, finished));
  const failure = await print();
  if (failure !== 0) return failure;
  const session = { hasBegun: false };
  try {
    const exitCode = await attachInTerminal(deps, runtime, {
      ...attachment,
      onOutput: () => {
        session.hasBegun = true;
      },
      onDetached: () => {
        session.hasBegun = true;
        attachment.onDetached?.();
      },
    });
    if (session.hasBegun || exitCode !== 0) return exitCode;
  } catch (error) {
    if (session.hasBegun || (await isRunning(opened, id))) throw error;
  }
  const done = new AbortController();
  try {
    return await print(watchContainerExit(opened, name, done.signal));
  } finally {
    done.abort();
  }
}

/** Resolves with 0, or with the exit code for a closed output. */
function printing(deps: CommandDeps, print: (streams: SessionStreams) => Promise<void>): Promise<number> {
  return inTerminal(deps, { stdin: false, tty: false }, async (streams) => {
    await print(streams);
    return 0;
  });
}

async function isRunning({ runtime }: OpenPod, containerId: string): Promise<boolean> {
  try {
    const { status } = await runtime.containerStatus({ containerId });
    return status?.state === 'CONTAINER_RUNNING';
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

interface Streams {
  stdout: Writable;
  stderr: Writable;
}

/** The output of one instance of a container in its log. Each call prints only what the calls before did not print. */
class LoggedOutput {
  private readonly printedBytes = { stdout: 0, stderr: 0 };

  /** `path`: `ContainerStatus.logPath`, empty for a runtime without log files. */
  constructor(private readonly path: string) {}

  /**
   * Prints up to the end of the log, or, with `finished`, up to the end that the log has once that is aborted. Prints a
   * warning if the log cannot be read.
   */
  async print(streams: Streams, finished?: AbortSignal): Promise<void> {
    if (this.path === '') return;
    const warn = (problem: string): void => {
      streams.stderr.write(`warning: ${visible(problem)}\n`);
    };
    const readBytes = { stdout: 0, stderr: 0 };
    const follow = finished === undefined ? {} : { follow: true, finished };
    try {
      await readLogs({ path: this.path, onProblem: warn, ...follow }, async (bytes, stream) => {
        const rest = bytes.subarray(Math.max(0, this.printedBytes[stream] - readBytes[stream]));
        readBytes[stream] += bytes.length;
        this.printedBytes[stream] += rest.length;
        if (rest.length > 0) await writeFully(streams[stream], rest);
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      warn(error.message);
    }
  }
}
