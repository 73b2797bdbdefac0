/** One finished call to the runtime. */
export interface ObservedCall {
  /** Name of the function, such as `runPodSandbox`. */
  method: string;
  request: unknown;
  durationMs: number;
  failed: boolean;
}

/** Must not throw. */
export type ObserveCall = (call: ObservedCall) => void;

/** Wraps a service and reports each call when it has finished. A stream is reported when it is opened. */
export function observedService<S extends object>(service: S, observe: ObserveCall, monotonic: () => number): S {
  const functions = Object.entries(service) as [string, (request?: unknown, ...rest: unknown[]) => unknown][];
  const observed = functions.map(([method, call]) => {
    const observedCall = (request?: unknown, ...rest: unknown[]): unknown => {
      const startedAtMonotonic = monotonic();
      const end = (failed: boolean): void => {
        observe({ method, request, durationMs: monotonic() - startedAtMonotonic, failed });
      };
      const answer = call(request, ...rest);
      if (!(answer instanceof Promise)) {
        end(false);
        return answer;
      }
      answer.then(
        () => {
          end(false);
        },
        () => {
          end(true);
        },
      );
      return answer;
    };
    return [method, observedCall];
  });
  return Object.fromEntries(observed) as S;
}
