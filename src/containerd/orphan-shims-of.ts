import type { Clock } from '../clock.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import type { Logger } from '../logger.ts';
import { containerdEventStream } from './containerd-event-stream.ts';
import { findShims, type ContainerdShim } from './containerd-shims.ts';
import { listKnownIDs } from './known-ids.ts';
import { OrphanShims } from './orphan-shims.ts';

/** The orphans of the containerd behind an endpoint (`unix:///path`); of another runtime there are none. */
export function orphanShimsOf(
  endpoint: string,
  options: {
    /** Undefined where the containerd is not ours. */
    readonly end: ((shim: ContainerdShim) => Promise<void>) | undefined;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  },
): OrphanShims {
  const { signal, ...deps } = options;
  const socket = endpoint.replace(/^unix:\/\//, '');
  return new OrphanShims(
    {
      ...deps,
      findShims: () => findShims(socket),
      listKnownIDs: (lookSignal) => listKnownIDs(endpoint, lookSignal),
      events: (streamSignal) => containerEvents(endpoint, streamSignal),
    },
    signal,
  );
}

async function* containerEvents(endpoint: string, signal: AbortSignal): AsyncGenerator<{ type: string }, void> {
  const channel = openChannel(endpoint);
  try {
    yield* containerdEventStream(channel).events(signal);
  } finally {
    channel.close();
  }
}
