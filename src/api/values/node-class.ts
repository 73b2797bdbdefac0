import type { Toleration } from 'kubernetes-types/core/v1.js';
import type { ResourceList } from '../types.ts';

/** A RuntimeClass from a manifest: how to run the pods that name it. */
export interface RuntimeClass {
  kind: 'RuntimeClass';
  name: string;
  /** The runtime's name for it. */
  handler: string;
  /** Resources that a pod needs in addition to its containers: `overhead.podFixed`. */
  overhead?: ResourceList;
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
}

/** A PriorityClass from a manifest. */
export interface PriorityClass {
  kind: 'PriorityClass';
  name: string;
  value: number;
  /** True if it is the class of pods that have neither a class nor a priority. */
  globalDefault: boolean;
  preemptionPolicy: string;
}

/** An object that pods name as their class. It has no namespace. */
export type NodeClass = RuntimeClass | PriorityClass;

/** Finds the declared classes. */
export interface NodeClassLookup {
  /** Returns undefined if no manifest declares it. */
  runtimeClass(name: string): RuntimeClass | undefined;
  /** Returns undefined if no manifest declares it. Does not know the classes of Kubernetes itself. */
  priorityClass(name: string): PriorityClass | undefined;
  /** The class with `globalDefault` that has the lowest value. Returns undefined if no class has it. */
  defaultPriorityClass(): PriorityClass | undefined;
}

/** Finds classes in a list. */
export function nodeClassesIn(objects: Iterable<NodeClass>): NodeClassLookup {
  const all = [...objects];
  const priorityClasses = all.filter((one) => one.kind === 'PriorityClass');
  return {
    runtimeClass: (name) => all.filter((one) => one.kind === 'RuntimeClass').find((one) => one.name === name),
    priorityClass: (name) => priorityClasses.find((one) => one.name === name),
    defaultPriorityClass: () =>
      priorityClasses.filter(({ globalDefault }) => globalDefault).toSorted((a, b) => a.value - b.value)[0],
  };
}
