import type { Socket } from 'node:net';

/** The connections of a server: a few dozen at most, because every eviction checks all of them. */
export class IdleClients<Client extends Pick<Socket, 'bytesRead'>> {
  /** Bytes that each client had sent at the last check, longest idle first. */
  private readonly bytes = new Map<Client, number>();

  get size(): number {
    return this.bytes.size;
  }

  add(client: Client): void {
    this.bytes.set(client, client.bytesRead);
  }

  delete(client: Client): void {
    this.bytes.delete(client);
  }

  /** Removes and returns the client that has been idle the longest. */
  evictLongestSilent(): Client | undefined {
    for (const [client, bytes] of [...this.bytes]) {
      if (client.bytesRead === bytes) continue;
      this.bytes.delete(client);
      this.bytes.set(client, client.bytesRead);
    }
    const [first] = this.bytes.keys();
    if (first !== undefined) this.bytes.delete(first);
    return first;
  }
}
