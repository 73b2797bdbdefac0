import type { DeepPartial } from './generated/cri.ts';

/** Options of one call. `deadlineMs` replaces the method's default; `Infinity` means no deadline. */
export interface CallOptions {
  signal?: AbortSignal;
  deadlineMs?: number;
  /** gRPC metadata of the request. */
  metadata?: Readonly<Record<string, string>>;
}

type MessageOf<F> = F extends { decode: (...args: never[]) => infer M } ? M : never;
/**
 * A CRI service as typed functions, one per method of the proto. A request may omit any field, which then has its zero
 * value. A failed call rejects with an `RpcError` (errors.ts), an aborted one with the signal's reason.
 */
export type Service<D extends { methods: object }> = {
  [K in keyof D['methods']]: D['methods'][K] extends { requestType: infer Req; responseType: infer Res }
    ? D['methods'][K] extends { responseStream: true }
      ? (request?: DeepPartial<MessageOf<Req>>, options?: CallOptions) => AsyncIterable<MessageOf<Res>>
      : (request?: DeepPartial<MessageOf<Req>>, options?: CallOptions) => Promise<MessageOf<Res>>
    : never;
};
