/** Node's own handle of a Unix socket, below the streams of `node:net`. Results are numbers, negative for an error. */
export interface PipeHandle {
  /** Newer releases return an error that is known at once; `oncomplete` of the request gets all others. */
  connect(request: { oncomplete?: (status: number) => void }, path: string): number | undefined;
  writeLatin1String(request: object, text: string): number;
  readStart(): number;
  /** Is called for each part. Without one the other side has ended, or reading failed. */
  onread?: (part: ArrayBuffer | undefined) => void;
  close(): void;
}

interface PipeBinding {
  /** A handle that has nothing open. */
  newPipe: () => PipeHandle;
  newConnectRequest: () => Parameters<PipeHandle['connect']>[0];
  newWriteRequest: () => object;
  /** Where the last part lies in its memory. A negative length is an error. */
  lastRead: () => { offset: number; length: number };
}

interface Bindings {
  pipe_wrap: {
    Pipe: new (type: number) => PipeHandle;
    PipeConnectWrap: new () => Parameters<PipeHandle['connect']>[0];
    constants: { SOCKET: number };
  };
  stream_wrap: {
    WriteWrap: new () => object;
    streamBaseState: Readonly<Record<number, number>>;
    kReadBytesOrError: number;
    kArrayBufferOffset: number;
  };
}

/**
 * The parts of `node:net` that Node has in C++, by the deprecated `process.binding`. Throws where Node does not hand
 * them out, so a caller needs another way. The modules and streams of `node:net` take 4 to 6 ms of a command, longer
 * than the answer of the agent (docs/decisions/2026-11-23-quick-ps.md).
 */
export function pipeBinding(): PipeBinding {
  const { binding } = process as unknown as { binding: <N extends keyof Bindings>(name: N) => Bindings[N] };
  const { Pipe, PipeConnectWrap, constants } = binding('pipe_wrap');
  const { WriteWrap, streamBaseState, kReadBytesOrError, kArrayBufferOffset } = binding('stream_wrap');
  return {
    newPipe: () => new Pipe(constants.SOCKET),
    newConnectRequest: () => new PipeConnectWrap(),
    newWriteRequest: () => new WriteWrap(),
    lastRead: () => ({
      offset: streamBaseState[kArrayBufferOffset] ?? 0,
      length: streamBaseState[kReadBytesOrError] ?? 0,
    }),
  };
}
