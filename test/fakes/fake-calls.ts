import type { Clock } from '../../src/clock.ts';
import { RpcError } from '../../src/errors.ts';
import {
  ImageServiceDefinition,
  RuntimeServiceDefinition,
  type DeepPartial,
  type MessageFns,
} from '../../src/cri/generated/cri.ts';
import type { CallOptions } from '../../src/cri/service.ts';
import { Journal } from './journal.ts';

const methods = { ...RuntimeServiceDefinition.methods, ...ImageServiceDefinition.methods };
type Methods = typeof methods;
type MessageOf<F> = F extends MessageFns<infer M> ? M : never;

export type MethodName = keyof Methods;
export type RequestOf<K extends MethodName> = MessageOf<Methods[K]['requestType']>;
export type ResponseOf<K extends MethodName> = MessageOf<Methods[K]['responseType']>;

/** A request as the runtime received it. It is complete: fields that the caller left out have their zero value. */
export interface Call<K extends MethodName = MethodName> {
  readonly method: K;
  readonly request: RequestOf<K>;
  /** Milliseconds since the epoch on the fake's clock. */
  readonly at: number;
}

/** Status codes that the fakes return, by gRPC's names. */
export const codes = {
  unknown: 2,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
} as const;

/** A status other than OK. The caller receives it as the `RpcError` of the method that it called. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A rule that a test sets for calls of a method. */
interface Rule {
  readonly method: MethodName;
  readonly matches: (request: unknown) => boolean;
}
type ErrorRule = Rule & { readonly error: Error; timesLeft: number };
type HoldRule = Rule & { readonly answersOnly: boolean; readonly released: Promise<void> };

/** Which calls of the method the rule applies to. Without `when`, to all of them. */
interface RuleOptions<K extends MethodName> {
  when?: (request: RequestOf<K>) => boolean;
}

/**
 * Handles every call of a fake service: records it, delays it, holds it and refuses it as the test requested, and
 * honours the caller's signal and deadline.
 */
export abstract class FakeCalls {
  readonly clock: Clock;
  readonly #journal = new Journal<Call>();
  readonly #errors = new Set<ErrorRule>();
  readonly #holds = new Set<HoldRule>();
  readonly #latencies = new Map<MethodName, number>();
  #callsUnderWay = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Every call so far, in order of arrival. */
  get calls(): readonly Call[] {
    return this.#journal.items;
  }

  /** Number of unary calls in flight. After one turn of the event loop, each of them waits for time or for the test. */
  get callsUnderWay(): number {
    return this.#callsUnderWay;
  }

  /** Returns the requests of one method so far, in order of arrival. */
  requestsOf<K extends MethodName>(method: K): RequestOf<K>[] {
    return this.calls.filter((call): call is Call<K> => call.method === method).map((call) => call.request);
  }

  /** Resolves to the next call of this method that no earlier wait returned, as soon as it arrives (see Journal). */
  waitForCall<K extends MethodName>(
    method: K,
    matches: (request: RequestOf<K>) => boolean = () => true,
  ): Promise<Call<K>> {
    return this.#journal.next(
      (call): call is Call<K> => call.method === method && matches(call.request as RequestOf<K>),
    );
  }

  /**
   * Makes the next `times` calls change nothing and fail with this error. A `Refusal` becomes the `RpcError` of the
   * method. Returns a function that removes the rule.
   */
  injectError<K extends MethodName>(
    method: K,
    error: Error,
    { times = 1, when }: RuleOptions<K> & { times?: number } = {},
  ): () => void {
    const rule: ErrorRule = { method, matches: matcherOf(when), error, timesLeft: times };
    this.#errors.add(rule);
    return () => {
      this.#errors.delete(rule);
    };
  }

  /**
   * Keeps calls in flight until the returned function is called or their callers give up. With `answersOnly`, the call
   * takes effect at once and only its response is held.
   */
  hang<K extends MethodName>(
    method: K,
    { when, answersOnly = false }: RuleOptions<K> & { answersOnly?: boolean } = {},
  ): () => void {
    const { promise: released, resolve } = deferred();
    const rule: HoldRule = { method, matches: matcherOf(when), answersOnly, released };
    this.#holds.add(rule);
    return () => {
      this.#holds.delete(rule);
      resolve();
    };
  }

  /** Delays every call of the method by this long on the fake's clock, before it has any effect. */
  latency(method: MethodName, ms: number): void {
    this.#latencies.set(method, ms);
  }

  /** Creates the function of a unary method. `handle` performs the call and returns its response. */
  protected unary<K extends MethodName>(method: K, handle: Handler<K>) {
    const { responseType } = messagesOf(method);
    return async (partial?: DeepPartial<RequestOf<K>>, options: CallOptions = {}): Promise<ResponseOf<K>> => {
      options.signal?.throwIfAborted();
      const request = this.#record(method, partial);
      this.#callsUnderWay += 1;
      try {
        return await bounded(this.clock, method, options, async (signal) => {
          await this.#pass(method, request, signal);
          const response = await handle(request, signal);
          await this.#held(method, request, true);
          return responseType.fromPartial(response);
        });
      } finally {
        this.#callsUnderWay -= 1;
      }
    };
  }

  /**
   * Creates the function of a server-streaming method. Calls `open` as soon as the call is recorded, so that the stream
   * misses nothing after that. `open` must release everything when its signal is aborted.
   */
  protected stream<K extends MethodName>(method: K, open: (signal: AbortSignal) => AsyncIterable<ResponseOf<K>>) {
    return async function* (
      this: FakeCalls,
      partial?: DeepPartial<RequestOf<K>>,
      { signal: callerSignal }: CallOptions = {},
    ): AsyncGenerator<ResponseOf<K>, void> {
      callerSignal?.throwIfAborted();
      const end = new AbortController();
      const signal = callerSignal === undefined ? end.signal : AbortSignal.any([callerSignal, end.signal]);
      const request = this.#record(method, partial);
      try {
        const messages = open(signal);
        await bounded(this.clock, method, { signal }, () => this.#pass(method, request, signal));
        yield* messages;
      } catch (error) {
        callerSignal?.throwIfAborted();
        throw asRpcError(method, error);
      } finally {
        end.abort();
      }
    }.bind(this);
  }

  #record<K extends MethodName>(method: K, partial: DeepPartial<RequestOf<K>> | undefined): RequestOf<K> {
    const { requestType } = messagesOf(method);
    const request = requestType.fromPartial(partial ?? ({} as DeepPartial<RequestOf<K>>));
    this.#journal.add({ method, request, at: this.clock.now() });
    return request;
  }

  async #pass(method: MethodName, request: unknown, signal: AbortSignal): Promise<void> {
    const latencyMs = this.#latencies.get(method);
    if (latencyMs !== undefined) await this.clock.sleep(latencyMs, { signal });
    await this.#held(method, request, false);
    // A caller that gave up while the call was held must not see it take effect.
    signal.throwIfAborted();
    for (const rule of this.#errors) {
      if (rule.method !== method || !rule.matches(request)) continue;
      rule.timesLeft -= 1;
      if (rule.timesLeft <= 0) this.#errors.delete(rule);
      throw rule.error;
    }
  }

  async #held(method: MethodName, request: unknown, answersOnly: boolean): Promise<void> {
    for (const rule of this.#holds) {
      if (rule.method === method && rule.answersOnly === answersOnly && rule.matches(request)) await rule.released;
    }
  }
}

export type Handler<K extends MethodName> = (
  request: RequestOf<K>,
  signal: AbortSignal,
) => DeepPartial<ResponseOf<K>> | Promise<DeepPartial<ResponseOf<K>>>;

async function bounded<T>(
  clock: Clock,
  method: MethodName,
  { signal: callerSignal, deadlineMs = Infinity }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const cancelDeadline =
    deadlineMs === Infinity
      ? undefined
      : clock.after(deadlineMs, () => {
          deadline.abort(new Refusal(codes.deadlineExceeded, `no answer within ${deadlineMs} ms`));
        });
  const signal = callerSignal === undefined ? deadline.signal : AbortSignal.any([callerSignal, deadline.signal]);
  try {
    return await Promise.race([abortOf(signal), work(signal)]);
  } catch (error) {
    callerSignal?.throwIfAborted();
    throw asRpcError(method, error);
  } finally {
    cancelDeadline?.();
  }
}

/** Rejects with the signal's reason once it is aborted. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function asRpcError(method: MethodName, error: unknown): unknown {
  return error instanceof Refusal ? new RpcError(methods[method].name, error.code, error.message) : error;
}

function messagesOf<K extends MethodName>(method: K) {
  // Here, the definitions of all methods form a union; K says which one it is.
  return methods[method] as unknown as {
    requestType: MessageFns<RequestOf<K>>;
    responseType: MessageFns<ResponseOf<K>>;
  };
}

function matcherOf<K extends MethodName>(when: RuleOptions<K>['when']): (request: unknown) => boolean {
  return (request) => when?.(request as RequestOf<K>) ?? true;
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
