import { UserError } from '../../errors.ts';
import type { RuntimeService } from '../runtime-service.ts';
import { runSession, type SessionStreams } from './container-session.ts';
import { statusText } from './exec-status.ts';

/**
 * Connects the caller's streams to the main process of a running container. Resolves when the container has exited. If
 * the runtime cannot attach, rejects with a `UserError` with its message.
 */
export async function attachToContainer(
  runtime: Pick<RuntimeService, 'attach'>,
  { containerID: containerId, ...streams }: SessionStreams & { containerID: string },
): Promise<void> {
  const { signal } = streams;
  const status = await runSession(
    {
      job: 'attach to the container',
      requestURL: async (names) => (await runtime.attach({ containerId, ...names }, signal && { signal })).url,
    },
    streams,
  );
  if (status.status !== 'Success') throw new UserError(`cannot attach to the container: ${statusText(status)}`);
}
