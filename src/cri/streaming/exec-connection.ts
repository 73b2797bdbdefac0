/** Channel numbers of the streaming protocol over WebSocket; over SPDY each channel is a stream. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** Bytes that the runtime sent on one channel. */
export interface ExecMessage {
  readonly channel: number;
  readonly bytes: Buffer;
}

/** An open streaming connection to a command in a container. */
export interface ExecConnection {
  /**
   * Messages of the runtime, in order. Reads little ahead of the consumer. Ends when the connection is closed, throws
   * if it breaks.
   */
  readonly messages: AsyncIterable<ExecMessage>;
  /** Resolves when the connection can take more. */
  send(channel: number, bytes: Buffer): Promise<void>;
  /** Ends the command's stdin and leaves the other channels open, where the protocol can. */
  closeStdin(): void;
  /** Drops the connection; `messages` ends. May be called at any time, any number of times. */
  close(): void;
}
