/** One message that the runtime sent on one channel. */
export type StreamMessage =
  | { readonly type: 'data'; readonly channel: number; readonly bytes: Buffer }
  /** The runtime will send nothing more on this channel. `reset` means that it gave up. */
  | { readonly type: 'end' | 'reset'; readonly channel: number };

/** An open connection to the runtime's streaming server. */
export interface StreamConnection {
  /** The protocol of the channels, chosen by the server. */
  readonly protocol: string;
  /**
   * The runtime's messages, in order. Reads little ahead of the consumer. Ends when the connection is closed, and
   * throws if it breaks.
   */
  readonly messages: AsyncIterable<StreamMessage>;
  /** Resolves when the connection can accept more. */
  send(channel: number, bytes: Buffer): Promise<void>;
  /** Ends our side of one channel and leaves everything else open, if the protocol can. */
  end(channel: number): void;
  /** Drops the connection; `messages` ends. May be called at any time, any number of times. */
  close(): void;
}
