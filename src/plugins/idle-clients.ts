import type { Socket } from 'node:net';

/** Connections of a server. At most some dozens, because each choice looks at all. */
export class IdleClients<Client extends Pick<Socket, 'bytesRead'>> {
  /** Bytes that each client had sent at the last look, longest silent first. */
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

  /** Removes the client that has been silent the longest, and returns it. */
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
