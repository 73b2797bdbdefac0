/** A service whose methods return the result of `wrap` in place of their answer. */
export function wrapMethods<S extends object>(service: S, wrap: (answer: unknown) => unknown): S {
  return new Proxy(service, {
    get: (target, name, receiver) => {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => wrap(Reflect.apply(method, target, args));
    },
  });
}
