import { isNotFound } from '../../cri/errors.ts';
import type { SessionStreams } from '../../cri/streaming/container-session.ts';
import type { CommandDeps } from '../io/deps.ts';
import { inTerminal } from '../io/in-terminal.ts';
import { type Attachment, attachInTerminal } from './attach-in-terminal.ts';
import { LoggedOutput } from './logged-output.ts';
import type { OpenPod } from './open-pod.ts';
import { watchContainerExit } from './watch-container-exit.ts';

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
