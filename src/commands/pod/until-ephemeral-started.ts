import type { Writable } from 'node:stream';
import type { ContainerStatus } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { fetchSnapshot, followEvents } from '../../server/control/control-client.ts';
import { visible } from '../../visible-text.ts';

/**
 * Resolves when the ephemeral container runs or has ended. Waits as long as its image is pulled, and prints each new
 * reason to wait. Rejects if the container is removed, or its pod or the agent ends.
 */
export async function untilEphemeralStarted(
  socketPath: string,
  pod: { namespace: string; name: string },
  container: string,
  stderr: Writable,
): Promise<void> {
  const done = new AbortController();
  const events = followEvents(socketPath, done.signal);
  let shown = '';
  try {
    // Opens the stream before the first look, so that no event is missed.
    for (let next = events.next(); ; next = events.next()) {
      // The promise may fail before it is awaited below.
      next.catch(() => undefined);
      const status = await statusOf(socketPath, pod, container);
      if (status === undefined) throw new UserError(`container ${container} was removed before it started`);
      if (status.state?.running !== undefined || status.state?.terminated !== undefined) return;
      const { reason = '', message = '' } = status.state?.waiting ?? {};
      const text = message.startsWith(`${reason}:`) ? message : [reason, message].filter(Boolean).join(': ');
      if (message !== '' && text !== shown) stderr.write(`warning: container ${container}: ${visible(text)}\n`);
      shown = text;
      if ((await next).done === true) throw new UserError('kubelet-ts ended before the container started');
    }
  } finally {
    done.abort();
  }
}

/** Returns undefined if the pod has no such container. */
async function statusOf(
  socketPath: string,
  { namespace, name }: { namespace: string; name: string },
  container: string,
): Promise<ContainerStatus | undefined> {
  const snapshot = await fetchSnapshot(socketPath);
  const found = snapshot?.pods
    .map(({ pod }) => pod)
    .filter(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
    .find(({ spec }) => spec.ephemeralContainers?.some((ephemeral) => ephemeral.name === container));
  if (found === undefined) return undefined;
  const statuses = found.status?.ephemeralContainerStatuses ?? [];
  return statuses.find((status) => status.name === container) ?? emptyStatus(container);
}

const emptyStatus = (name: string): ContainerStatus => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
});
