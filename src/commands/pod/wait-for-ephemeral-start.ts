import type { Writable } from 'node:stream';
import type { ContainerStatus } from '../../api/types.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import type { AgentSocket } from '../../server/control/control-client.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { RuntimeWarning } from './runtime-warning.ts';
import { visible } from '../../text/visible-text.ts';

/**
 * Resolves when the ephemeral container runs or has exited. Waits while its image is pulled, and prints each new
 * reason. Rejects if the container is removed, its pod stops or the agent exits.
 */
export async function waitForEphemeralStart(
  socket: AgentSocket,
  pod: { namespace: string; name: string },
  container: string,
  stderr: Writable,
): Promise<void> {
  let shown = '';
  const warning = new RuntimeWarning(stderr);
  for await (const snapshot of snapshotsAtEvents(socket, new AbortController().signal)) {
    warning.update(snapshot);
    const status = statusOf(snapshot, pod, container);
    if (status === undefined) throw new UserError(`container ${container} was removed before it started`);
    if (status.state?.running !== undefined || status.state?.terminated !== undefined) return;
    const { reason = '', message = '' } = status.state?.waiting ?? {};
    const text = message.startsWith(`${reason}:`) ? message : [reason, message].filter(Boolean).join(': ');
    if (message !== '' && text !== shown) stderr.write(`warning: container ${container}: ${visible(text)}\n`);
    shown = text;
  }
  throw new UserError('kubelet-ts exited before the container started');
}

/** Returns undefined if the pod has no such container. */
function statusOf(
  { pods }: EngineSnapshot,
  { namespace, name }: { namespace: string; name: string },
  container: string,
): ContainerStatus | undefined {
  const found = pods
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
