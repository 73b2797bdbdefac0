import { attachToContainer } from '../../cri/streaming/attach-to-container.ts';
import type { SessionStreams } from '../../cri/streaming/container-session.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CommandDeps } from '../io/deps.ts';
import { DetachFilter } from '../io/detach-keys.ts';
import { inTerminal } from '../io/in-terminal.ts';

export interface Attachment {
  container: { id: string; name: string };
  stdin: boolean;
  tty: boolean;
  /** The key sequence that detaches, on a terminal. Empty for none. */
  detachKeys: Buffer;
  /** The same keys as the user wrote them. */
  keysText: string;
  /** Called when the keys are typed. */
  onDetached?: () => void;
  /** Called before output of the container is printed. */
  onOutput?: () => void;
}

/** Attaches the streams of this program to a running container. Resolves with 0 when it exits or the user detaches. */
export async function attachInTerminal(
  deps: CommandDeps,
  runtime: RuntimeService,
  { container, stdin, tty, detachKeys, keysText, onDetached, onOutput }: Attachment,
): Promise<number> {
  return inTerminal(deps, { stdin, tty }, async (streams) => {
    const attachTo = (all: SessionStreams): Promise<void> =>
      attachToContainer(runtime, { containerID: container.id, ...all, ...(onOutput && { onOutput }) });
    if (streams.tty !== true || detachKeys.length === 0) await attachTo(streams);
    else {
      deps.stderr.write(
        `Attached to container ${container.name}. ${keysText} detaches. Press Enter to see a prompt.\n`,
      );
      await runUntilDetached(streams, detachKeys, attachTo, onDetached);
    }
    return 0;
  });
}

/** Resolves when the session has ended, or at once when `keys` are typed. */
async function runUntilDetached(
  streams: SessionStreams,
  keys: Buffer,
  session: (streams: SessionStreams) => Promise<void>,
  onDetached: (() => void) | undefined,
): Promise<void> {
  const detached = new AbortController();
  const filter = new DetachFilter(keys, () => {
    detached.abort();
    onDetached?.();
  });
  const { stdin, signal } = streams;
  stdin?.pipe(filter);
  try {
    const either = AbortSignal.any([detached.signal, ...(signal === undefined ? [] : [signal])]);
    await session({ ...streams, stdin: filter, signal: either });
  } catch (error) {
    if (!detached.signal.aborted) throw error;
  } finally {
    stdin?.unpipe(filter).pause();
  }
}
