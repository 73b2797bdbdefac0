import type { RuntimeService } from '../runtime-service.ts';
import { runSession, type SessionStreams } from './container-session.ts';
import { exitCodeOf } from './exec-status.ts';

/** A command to run in a container, and the caller's streams. */
export interface ExecOptions extends SessionStreams {
  containerID: string;
  command: readonly string[];
}

/**
 * Runs a command in a running container. Resolves to its exit code once it has exited and `stdout` and `stderr` have
 * accepted all its output. If the command cannot start, rejects with a `UserError` with the runtime's message and a
 * shell's exit code: 127 for not found, 126 for not executable, else 1.
 */
export async function execInContainer(runtime: Pick<RuntimeService, 'exec'>, options: ExecOptions): Promise<number> {
  const { containerID: containerId, command, signal } = options;
  const status = await runSession(
    {
      job: 'run the command',
      requestURL: async (streams) =>
        (await runtime.exec({ containerId, cmd: [...command], ...streams }, signal && { signal })).url,
    },
    options,
  );
  return exitCodeOf(status, command);
}
