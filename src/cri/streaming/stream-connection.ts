/** A part of what the runtime sent on one channel. */
export type StreamMessage =
  | { readonly type: 'data'; readonly channel: number; readonly bytes: Buffer }
  /** The runtime sends no more on this channel. `reset` means that it gave up. */
  | { readonly type: 'end' | 'reset'; readonly channel: number };

/** An open connection to the streaming server of the runtime. */
export interface StreamConnection {
  /** The protocol of the channels, which the server chose. */
  readonly protocol: string;
  /**
   * Messages of the runtime, in order. Reads little ahead of the consumer. Ends when the connection is closed, throws
   * if it breaks.
   */
  readonly messages: AsyncIterable<StreamMessage>;
  /** Resolves when the connection can take more. */
  send(channel: number, bytes: Buffer): Promise<void>;
  /** Ends our side of one channel and leaves all else open, where the protocol can. */
  end(channel: number): void;
  /** Drops the connection; `messages` ends. May be called at any time, any number of times. */
  close(): void;
}
