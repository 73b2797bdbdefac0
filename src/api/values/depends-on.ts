import { podKey } from './pod-names.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from './field-errors.ts';
import { checkDNS1123Label, checkDNS1123Subdomain } from './names.ts';

/** Names the pods that have to be Ready before a pod starts: `name` or `namespace/name`, separated by commas. */
export const dependsOnAnnotation = 'kubelet-ts.io/depends-on';

/** Field path of the annotation in a pod. */
export const dependsOnField = `metadata.annotations[${dependsOnAnnotation}]`;

/** Position of a depends-on annotation in a manifest. */
export interface DependsOnPosition extends Pick<ManifestProblem, 'origin' | 'line' | 'column' | 'field'> {
  podUID: string;
}

/** The pods that a pod waits for, as `namespace/name`, without repeats. */
export function dependsOn({ metadata }: Pod): string[] {
  const names = writtenNames(metadata.annotations?.[dependsOnAnnotation] ?? '');
  return [
    ...new Set(names.map((name) => (name.includes('/') ? name : podKey({ namespace: metadata.namespace, name })))),
  ];
}

/** Finds the pod of a `namespace/name`, with or without the node suffix. */
export function findDependency(key: string, pods: readonly Pod[]): Pod | undefined {
  return pods.find((pod) => manifestKey(pod) === key) ?? pods.find(({ metadata }) => podKey(metadata) === key);
}

/** `namespace/name` of a pod as in its manifest, without the node suffix. */
export function manifestKey({ metadata: { namespace, name }, spec: { nodeName = '' } }: Pod): string {
  const suffix = `-${nodeName.toLowerCase()}`;
  return `${namespace}/${name.endsWith(suffix) ? name.slice(0, -suffix.length) : name}`;
}

/** The shortest cycle of dependencies through a pod. Returns undefined if there is none. */
export function cycleOf(pod: Pod, pods: readonly Pod[]): Pod[] | undefined {
  const paths: Pod[][] = [[pod]];
  const seen = new Set<Pod>();
  for (const path of paths) {
    for (const key of dependsOn(path.at(-1) ?? pod)) {
      const next = findDependency(key, pods);
      if (next === undefined || seen.has(next)) continue;
      if (next.metadata.uid === pod.metadata.uid) return path;
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return undefined;
}

/** The direct and indirect dependencies of a pod among `pods`. */
export function allDependencies(pod: Pod, pods: readonly Pod[]): Set<Pod> {
  const found = new Set<Pod>();
  const open = [pod];
  for (const next of open) {
    for (const key of dependsOn(next)) {
      const dependency = findDependency(key, pods);
      if (dependency === undefined || found.has(dependency)) continue;
      found.add(dependency);
      open.push(dependency);
    }
  }
  return found;
}

/** `default/a waits for default/b, which waits for default/a`. */
export function cycleText(cycle: readonly Pod[]): string {
  const [first = '', ...others] = cycle.map(manifestKey);
  return `${first} waits for ${[...others, first].join(', which waits for ')}`;
}

/** Errors in the annotation of one pod, independent of other pods. */
export function validateDependsOn(pod: Pod): FieldError[] {
  const errors = new FieldErrors();
  for (const written of writtenNames(pod.metadata.annotations?.[dependsOnAnnotation] ?? '')) {
    const { namespace = '', name = '' } = /^(?:(?<namespace>[^/]*)\/)?(?<name>.*)$/.exec(written)?.groups ?? {};
    const message =
      (written.includes('/') ? checkDNS1123Label(namespace) : undefined) ?? checkDNS1123Subdomain(name) ?? '';
    if (message !== '') {
      errors.invalid(dependsOnField, written, message, 'Name pods as "name" or "namespace/name", with "," between.');
    }
  }
  if (errors.list.length === 0 && dependsOn(pod).some((key) => findDependency(key, [pod]) !== undefined)) {
    errors.invalid(dependsOnField, pod.metadata.annotations?.[dependsOnAnnotation], 'a pod cannot wait for itself');
  }
  return errors.list;
}

/** The names in the annotation. An empty text has none, because templates may leave one. */
function writtenNames(text: string): string[] {
  return text.trim() === '' ? [] : text.split(',').map((name) => name.trim());
}
