import type { Socket } from 'node:net';

/** Clients looked at in a call, because a look at all takes as long as to accept a connection. */
const looksACall = 32;

/** Connections of a server without a request, longest waiting first. */
export class WaitingClients<Client extends Pick<Socket, 'bytesRead'>> {
  /** Silent clients that were looked at in this round. Each of them waits longer than those that were not. */
  private looked = new Set<Client>();
  private unlooked = new Set<Client>();
  /** Those that had sent a part of a request when they were last looked at. */
  private readonly begun = new Set<Client>();

  add(socket: Client): void {
    this.unlooked.add(socket);
  }

  delete(socket: Client): void {
    for (const clients of [this.unlooked, this.looked, this.begun]) if (clients.delete(socket)) return;
  }

  /** The first to close. On a busy machine, a silent client may only be late. Others send a whole head at once. */
  first(): Client | undefined {
    if (this.begun.size === 0) this.look();
    return firstOf(this.begun) ?? firstOf(this.looked) ?? firstOf(this.unlooked);
  }

  /** Ends with the first that has begun. */
  private look(): void {
    const most = Math.min(looksACall, this.looked.size + this.unlooked.size);
    for (let looks = 0; looks < most && this.begun.size === 0; looks++) {
      if (this.unlooked.size === 0) [this.looked, this.unlooked] = [this.unlooked, this.looked];
      const [socket] = this.unlooked;
      if (socket === undefined) return;
      this.unlooked.delete(socket);
      (socket.bytesRead === 0 ? this.looked : this.begun).add(socket);
    }
  }
}

function firstOf<Client>(clients: Iterable<Client>): Client | undefined {
  const [first] = clients;
  return first;
}
