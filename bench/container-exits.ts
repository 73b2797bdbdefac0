import { EventEmitter, once } from 'node:events';

const waitTimeoutMs = 120_000;

interface ContainerEvent {
  id: string;
  type: 'exited' | 'removed' | 'outOfMemory';
}

/** Records from the runtime's events which containers have exited, without polling. */
export class ContainerExits {
  private readonly exited = new Set<string>();
  /** Emits each exit under its container's id. */
  private readonly news = new EventEmitter();

  /** Follows the stream until the signal is aborted. */
  async follow(stream: (signal: AbortSignal) => AsyncIterable<ContainerEvent>, signal: AbortSignal): Promise<void> {
    try {
      for await (const { id, type } of stream(signal)) {
        if (type !== 'exited') continue;
        this.exited.add(id);
        this.news.emit(id);
      }
    } catch (error) {
      if (!signal.aborted) this.news.emit('error', error);
    }
  }

  /** Resolves when this container has exited, or at once if it already has. */
  async of(id: string): Promise<void> {
    if (!this.exited.has(id)) await once(this.news, id, { signal: AbortSignal.timeout(waitTimeoutMs) });
  }
}
