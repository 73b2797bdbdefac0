import type { DeepPartial } from './generated/cri.ts';

/** How one call is bounded, its deadline replacing the method's own (`Infinity` means none), and what goes with it. */
export interface CallOptions {
  signal?: AbortSignal;
  deadlineMs?: number;
  /** Goes with the request. */
  metadata?: Readonly<Record<string, string>>;
}

type MessageOf<F> = F extends { decode: (...args: never[]) => infer M } ? M : never;
/**
 * A CRI service as typed functions, one per method of the proto. A request may leave out any field, which then has its
 * zero value. A failed call rejects with an `RpcError` (errors.ts); an aborted one with the signal's reason.
 */
export type Service<D extends { methods: object }> = {
  [K in keyof D['methods']]: D['methods'][K] extends { requestType: infer Req; responseType: infer Res }
    ? D['methods'][K] extends { responseStream: true }
      ? (request?: DeepPartial<MessageOf<Req>>, options?: CallOptions) => AsyncIterable<MessageOf<Res>>
      : (request?: DeepPartial<MessageOf<Req>>, options?: CallOptions) => Promise<MessageOf<Res>>
    : never;
};
