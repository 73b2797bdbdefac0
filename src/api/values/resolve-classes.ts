import type { Toleration } from 'kubernetes-types/core/v1.js';
import { nearestName } from '../text/nearest-name.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import type { Pod, PodSpec } from '../types.ts';
import type { NodeClassLookup, PriorityClass, RuntimeClass } from './node-class.ts';
import { systemPriorityClasses } from './pod-priority.ts';

/** Fields of a pod that name a class. */
export type ClassField = 'spec.runtimeClassName' | 'spec.priorityClassName';

/** Position of a class name in a manifest, or of the name of another object if those are wanted. */
export interface ClassPosition extends Pick<ManifestProblem, 'origin' | 'line' | 'column'> {
  podUID: string;
  field: string;
}

/** Why a pod cannot start with the class that it names. */
export interface ClassProblem {
  field: ClassField;
  message: string;
  hint: string;
  /** True if no manifest declares the class. */
  isMissing: boolean;
}

type Resolved<T> = { value: T } | { problem: ClassProblem };

/**
 * The pod with the values of its classes: overhead, node selector and tolerations, priority and preemption policy.
 * Returns the same pod if nothing changes. An API server does this once, when a pod is created: plugin/pkg/admission
 * runtimeclass and priority.
 */
export function resolveClasses(pod: Pod, classes: NodeClassLookup): { pod: Pod } | { problem: ClassProblem } {
  const withRuntime = withRuntimeClass(pod.spec, classes);
  if ('problem' in withRuntime) return withRuntime;
  const resolved = withPriorityClass(withRuntime.value, classes);
  if ('problem' in resolved) return resolved;
  return { pod: resolved.value === pod.spec ? pod : { ...pod, spec: resolved.value } };
}

function withRuntimeClass(spec: PodSpec, classes: NodeClassLookup): Resolved<PodSpec> {
  const name = spec.runtimeClassName ?? '';
  if (name === '') return { value: spec };
  const found = classes.runtimeClass(name);
  if (found === undefined) return { problem: missing('RuntimeClass', 'spec.runtimeClassName', name) };
  const conflict = runtimeConflict(spec, found);
  if (conflict !== undefined) return { problem: { field: 'spec.runtimeClassName', isMissing: false, ...conflict } };
  const { overhead, nodeSelector, tolerations } = found;
  if (overhead === undefined && nodeSelector === undefined && tolerations === undefined) return { value: spec };
  return {
    value: {
      ...spec,
      ...(overhead && { overhead }),
      ...(nodeSelector && { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }),
      ...(tolerations && { tolerations: merged(spec.tolerations ?? [], tolerations) }),
    },
  };
}

function runtimeConflict(spec: PodSpec, found: RuntimeClass): Pick<ClassProblem, 'message' | 'hint'> | undefined {
  const { name, overhead = {}, nodeSelector = {} } = found;
  if (spec.overhead !== undefined && !haveSameMembers(spec.overhead, overhead)) {
    const message = `spec.overhead is not the overhead of RuntimeClass "${name}"`;
    return { message, hint: 'Leave spec.overhead out: the class sets it.' };
  }
  const key = Object.keys(nodeSelector).find((label) => {
    const own = spec.nodeSelector?.[label] ?? nodeSelector[label];
    return own !== nodeSelector[label];
  });
  if (key === undefined) return undefined;
  const message = `spec.nodeSelector and RuntimeClass "${name}" want different values of the label ${key}`;
  return { message, hint: 'Remove the label from one of them.' };
}

function merged(own: readonly Toleration[], more: readonly Toleration[]): Toleration[] {
  return [...own, ...more.filter((toleration) => !own.some((other) => haveSameMembers(other, toleration)))];
}

/** True if two flat objects are equal. */
function haveSameMembers(a: object, b: object): boolean {
  const others = new Map<string, unknown>(Object.entries(b));
  const members = Object.entries(a);
  return members.length === others.size && members.every(([name, value]) => others.get(name) === value);
}

function withPriorityClass(spec: PodSpec, classes: NodeClassLookup): Resolved<PodSpec> {
  const name = spec.priorityClassName ?? '';
  if (name === '') return { value: spec.priority === undefined ? withDefaultPriority(spec, classes) : spec };
  const system = systemPriorityClasses.get(name);
  const declared = system === undefined ? classes.priorityClass(name) : undefined;
  const value = system ?? declared?.value;
  if (value === undefined) {
    // As in the kubelet, which only knows the number.
    if (spec.priority !== undefined) return { value: spec };
    return { problem: missing('PriorityClass', 'spec.priorityClassName', name, [...systemPriorityClasses.keys()]) };
  }
  const conflict = priorityConflict(spec, name, value, declared);
  if (conflict !== undefined) return { problem: { field: 'spec.priorityClassName', isMissing: false, ...conflict } };
  return { value: withPriority(spec, value, declared) };
}

function withDefaultPriority(spec: PodSpec, classes: NodeClassLookup): PodSpec {
  const found = classes.defaultPriorityClass();
  if (found === undefined) return spec;
  const { preemptionPolicy = found.preemptionPolicy } = spec;
  if (preemptionPolicy !== found.preemptionPolicy) return spec;
  return { ...withPriority(spec, found.value, found), priorityClassName: found.name };
}

function withPriority(spec: PodSpec, priority: number, declared: PriorityClass | undefined): PodSpec {
  const preemptionPolicy = spec.preemptionPolicy ?? declared?.preemptionPolicy;
  if (spec.priority === priority && spec.preemptionPolicy === preemptionPolicy) return spec;
  return { ...spec, priority, ...(preemptionPolicy !== undefined && { preemptionPolicy }) };
}

function priorityConflict(
  { priority, preemptionPolicy }: PodSpec,
  name: string,
  value: number,
  declared: PriorityClass | undefined,
): Pick<ClassProblem, 'message' | 'hint'> | undefined {
  if (priority !== undefined && priority !== value) {
    const message = `spec.priority is ${priority}, but PriorityClass "${name}" has the value ${value}`;
    return { message, hint: 'Leave spec.priority out: the class sets it.' };
  }
  const policy = declared?.preemptionPolicy ?? 'PreemptLowerPriority';
  if (preemptionPolicy === undefined || preemptionPolicy === policy) return undefined;
  const message = `spec.preemptionPolicy is ${preemptionPolicy}, but that of PriorityClass "${name}" is ${policy}`;
  return { message, hint: 'Leave spec.preemptionPolicy out: the class sets it.' };
}

function missing(kind: string, field: ClassField, name: string, known: readonly string[] = []): ClassProblem {
  const nearest = nearestName(name, known);
  const hint =
    nearest === undefined
      ? `Declare it with the pod, as a document of kind ${kind}. Until then, the pod waits.`
      : `Did you mean "${nearest}"? Otherwise declare it. Until then, the pod waits.`;
  return { field, message: `no manifest declares ${kind} "${name}"`, hint, isMissing: true };
}

/**
 * The runtime handler of a pod's class; empty for the default one. Throws an Error if no manifest declares the class.
 */
export function runtimeHandler({ spec }: Pick<Pod, 'spec'>, classes: Pick<NodeClassLookup, 'runtimeClass'>): string {
  const name = spec.runtimeClassName ?? '';
  if (name === '') return '';
  const found = classes.runtimeClass(name);
  if (found === undefined) throw new Error(`no manifest declares RuntimeClass "${name}"`);
  return found.handler;
}
