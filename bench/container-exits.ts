import { EventEmitter, once } from 'node:events';

const waitTimeoutMs = 120_000;

interface ContainerEvent {
  id: string;
  type: 'exited' | 'removed';
}

/** Knows from the runtime's events which containers exited, so that nobody has to ask for it again and again. */
export class ContainerExits {
  private readonly exited = new Set<string>();
  /** Each exit goes out under the id of its container. */
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

  /** Resolves when this container has exited, at once if it has already. */
  async of(id: string): Promise<void> {
    if (!this.exited.has(id)) await once(this.news, id, { signal: AbortSignal.timeout(waitTimeoutMs) });
  }
}
