import type { Socket } from 'node:net';

/** Clients looked at in a call, because a look at all takes as long as to accept a connection. */
const looksACall = 32;

/** Connections of a server without a request, longest waiting first. */
export class WaitingClients<Client extends Pick<Socket, 'bytesRead'>> {
  private readonly silent = new Set<Client>();
  /** Those that had sent a part of one when they were last looked at. */
  private readonly begun = new Set<Client>();
  /** Where the last look ended. The iterator also has the clients that are added later. */
  private rest = this.silent.values();

  add(socket: Client): void {
    this.silent.add(socket);
  }

  delete(socket: Client): void {
    if (!this.silent.delete(socket)) this.begun.delete(socket);
  }

  /** The first to close. On a busy machine, a silent client may only be late. Others send a whole head at once. */
  first(): Client | undefined {
    if (this.begun.size === 0) this.look();
    const [first] = this.begun.size === 0 ? this.silent : this.begun;
    return first;
  }

  /** Ends with the first that has begun. */
  private look(): void {
    const most = Math.min(looksACall, this.silent.size);
    for (let looks = 0; looks < most && this.begun.size === 0; looks++) {
      const socket = this.next();
      if (socket === undefined || socket.bytesRead === 0) continue;
      this.silent.delete(socket);
      this.begun.add(socket);
    }
  }

  private next(): Client | undefined {
    const { value, done } = this.rest.next();
    if (done !== true) return value;
    this.rest = this.silent.values();
    return this.rest.next().value;
  }
}
