import type { PriorityClass, RuntimeClass } from '../../src/api/values/node-class.ts';

export function makeRuntimeClass(name: string, more: Partial<RuntimeClass> = {}): RuntimeClass {
  return { kind: 'RuntimeClass', name, handler: 'runsc', ...more };
}

export function makePriorityClass(name: string, value: number, more: Partial<PriorityClass> = {}): PriorityClass {
  const preemptionPolicy = 'PreemptLowerPriority';
  return { kind: 'PriorityClass', name, value, globalDefault: false, preemptionPolicy, ...more };
}
