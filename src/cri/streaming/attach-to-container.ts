import { UserError } from '../../errors.ts';
import type { RuntimeService } from '../runtime-service.ts';
import { runSession, type SessionStreams } from './container-session.ts';
import { statusText } from './exec-status.ts';

/**
 * Connects the caller's streams with the main process of a running container. Resolves when the container has ended.
 * Rejects with a `UserError` with the runtime's message if it cannot attach.
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
