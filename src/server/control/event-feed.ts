import type { ServerResponse } from 'node:http';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineView } from '../../engine/view/snapshot.ts';

/** Limit on unread bytes of one reader of events. */
const maxUnreadBytes = 1024 * 1024;

/** Sends each event to all readers, as one line of JSON that is created once. Costs nothing without readers. */
export class EventFeed {
  private readonly readers = new Set<ServerResponse>();
  private unsubscribe = (): void => undefined;

  /** Sends events until the reader disconnects. */
  add(engine: EngineView, response: ServerResponse): void {
    if (this.readers.size === 0) this.unsubscribe = engine.subscribe(this.send);
    this.readers.add(response);
    response.once('close', () => {
      this.readers.delete(response);
      if (this.readers.size === 0) this.unsubscribe();
    });
  }

  private readonly send = (event: KubeletEvent): void => {
    const line = Buffer.from(`${JSON.stringify(event)}\n`);
    for (const response of this.readers) {
      response.write(line);
      // Disconnects a slow reader to bound our memory. It may reconnect and fetch the snapshot.
      if (response.writableLength > maxUnreadBytes) response.destroy();
    }
  };
}
