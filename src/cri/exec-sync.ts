/*
 * ExecSync on a separate connection. A container may answer a probe or a hook with 15 MiB, in many pods at once, and
 * grpc-js first copies a whole message several times. This client cuts the answer as it arrives.
 */
import { constants, connect as connectHTTP2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { toError, RpcError } from '../errors.ts';
import { textLimits } from '../text/text-limits.ts';
import { codes } from './errors.ts';
import { ExecSyncRequest, ExecSyncResponse } from './generated/cri.ts';
import { MessageCutter } from './message-cutter.ts';
import type { ExecSyncAnswer, ExecSyncOptions, RuntimeService } from './runtime-service.ts';

/** Length of the prefix of a gRPC message: a compression flag and the length. */
const prefixBytes = 5;
/** Node's longest timer. */
const maxTimerMs = 2 ** 31 - 1;
const method = 'ExecSync';

/** ExecSync of one endpoint. Connects at the first call, and reconnects after the connection is lost. */
export class ExecSyncClient {
  private readonly maxCalls: number;
  private session: ClientHttp2Session | undefined;
  /** Number of calls made on this session. */
  private calls = 0;

  /** `endpoint` is `unix:///path` or a bare path. A connection has enough stream ids for `maxCalls`. */
  constructor(
    private readonly endpoint: string,
    { maxCalls = 2 ** 30 - 1 }: { maxCalls?: number } = {},
  ) {
    this.maxCalls = maxCalls;
  }

  /** Like `RuntimeService.execSync`: rejects with an `RpcError`, or with the signal's reason. */
  call(
    request: Parameters<RuntimeService['execSync']>[0] = {},
    options: ExecSyncOptions = {},
  ): Promise<ExecSyncAnswer> {
    const { signal, deadlineMs = Infinity, metadata = {}, maxOutputBytes = textLimits.execOutput } = options;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stream = this.connected().request({
        ...metadata,
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: '/runtime.v1.RuntimeService/ExecSync',
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
        ...(Number.isFinite(deadlineMs) && { 'grpc-timeout': grpcTimeout(deadlineMs) }),
      });
      const abort = (): void => {
        settle(() => {
          reject(signal?.reason as Error);
        });
      };
      const timer = Number.isFinite(deadlineMs)
        ? setTimeout(
            () => {
              settle(() => {
                reject(new RpcError(method, codes.deadlineExceeded, `no answer within ${deadlineMs} ms`));
              });
            },
            Math.min(deadlineMs, maxTimerMs),
          )
        : undefined;
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        act();
        stream.close(constants.NGHTTP2_CANCEL);
      };
      signal?.addEventListener('abort', abort, { once: true });
      readAnswer(stream, maxOutputBytes).then(
        (answer) => {
          settle(() => {
            resolve(answer);
          });
        },
        (error: unknown) => {
          settle(() => {
            reject(toError(error));
          });
        },
      );
      stream.end(framed(ExecSyncRequest.encode(ExecSyncRequest.fromPartial(request)).finish()));
    });
  }

  close(): void {
    this.session?.destroy();
    this.session = undefined;
  }

  private connected(): ClientHttp2Session {
    const open = this.session;
    if (this.calls < this.maxCalls && open !== undefined && !open.closed && !open.destroyed) {
      this.calls += 1;
      return open;
    }
    // Calls in flight on it continue.
    open?.close();
    const path = this.endpoint.replace(/^unix:(\/\/)?/, '');
    const session = connectHTTP2('http://localhost', { createConnection: () => connectSocket(path) });
    // Each call receives the error through its stream.
    session.on('error', () => undefined);
    // After GOAWAY, the server accepts no more calls.
    session.on('goaway', () => {
      if (this.session === session) this.session = undefined;
      session.close();
    });
    // The session must not keep the process alive.
    session.unref();
    this.session = session;
    this.calls = 1;
    return session;
  }
}

/** The most that gRPC's eight digits can hold: three years. */
const maxTimeoutSeconds = 99_999_999;

/** A deadline in gRPC's format, in whole seconds. */
function grpcTimeout(deadlineMs: number): string {
  return `${Math.min(Math.ceil(deadlineMs / 1000), maxTimeoutSeconds)}S`;
}

async function readAnswer(stream: ClientHttp2Stream, maxOutputBytes: number): Promise<ExecSyncAnswer> {
  const status = statusOf(stream);
  const body = new Body(maxOutputBytes);
  try {
    for await (const part of stream as AsyncIterable<Buffer>) body.add(part);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new RpcError(method, codes.unavailable, message, { cause: error });
  }
  const { code, message } = status();
  if (code !== codes.ok) throw new RpcError(method, code, message);
  return body.answer();
}

/** The final gRPC status, from the trailers, or from the headers if there are no trailers. */
function statusOf(stream: ClientHttp2Stream): () => { code: number; message: string } {
  let metadata: Record<string, unknown> = {};
  stream.on('response', (headers) => {
    metadata = { ...metadata, ...headers };
  });
  stream.on('trailers', (trailers: Record<string, unknown>) => {
    metadata = { ...metadata, ...trailers };
  });
  return () => {
    const { 'grpc-status': code, 'grpc-message': message } = metadata;
    if (typeof code !== 'string') return { code: codes.unavailable, message: 'the connection was lost' };
    return { code: Number(code), message: typeof message === 'string' ? unescaped(message) : '' };
  };
}

/** One gRPC message, cut to size as it arrives. */
class Body {
  private prefix = Buffer.alloc(0);
  private readonly message: MessageCutter;

  constructor(maxOutputBytes: number) {
    this.message = new MessageCutter(maxOutputBytes);
  }

  add(part: Buffer): void {
    const missing = prefixBytes - this.prefix.length;
    if (missing > 0) this.prefix = Buffer.concat([this.prefix, part.subarray(0, missing)]);
    if (part.length > missing) this.message.add(part.subarray(missing));
  }

  answer(): ExecSyncAnswer {
    if (this.prefix[0] !== 0) throw new RpcError(method, codes.unavailable, 'the answer is not a plain gRPC message');
    const answer = ExecSyncResponse.decode(this.message.end());
    const { leftOutBytes } = this.message;
    return leftOutBytes === 0 ? answer : { ...answer, leftOutBytes };
  }
}

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Decodes a status message, which gRPC percent-encodes. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The server did not encode it.
    return text;
  }
}
