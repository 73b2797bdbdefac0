/** Wraps a service so that each method returns the result of `wrap` instead of its own. */
export function wrapMethods<S extends object>(service: S, wrap: (answer: unknown) => unknown): S {
  return new Proxy(service, {
    get: (target, name, receiver) => {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => wrap(Reflect.apply(method, target, args));
    },
  });
}
