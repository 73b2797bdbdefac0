import type { ResourceFieldSelector } from 'kubernetes-types/core/v1.js';
import { metadataFieldValue, resourceFieldValue } from './field-ref.ts';
import type { Container, Pod, ResourceList } from '../types.ts';
import { UserError } from '../../errors.ts';

/** Facts for the downward API that are not in the manifest. */
export interface DownwardSources {
  /** Addresses of the pod, primary first. Empty until the sandbox has one. */
  podIPs: readonly string[];
  /** Addresses of the node, primary first. */
  nodeIPs: readonly string[];
  /** The node's allocatable resources, used for limits that a container does not set. */
  allocatable: ResourceList;
}

/**
 * Value of a fieldRef; `where` is the variable's name for errors. kubelet: kubelet_pods.go podFieldSelectorRuntimeValue
 */
export function podFieldValue(pod: Pod, fieldPath: string, sources: DownwardSources, where: string): string {
  const { metadata, spec } = pod;
  switch (fieldPath) {
    // The name from before v1, which is still accepted. kubelet: apis/core/pods/helpers.go ConvertDownwardAPIFieldLabel
    case 'spec.host':
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return sources.nodeIPs[0] ?? '';
    case 'status.hostIPs':
      return sources.nodeIPs.join(',');
    case 'status.podIP':
      return podIPs(pod, sources)[0] ?? '';
    case 'status.podIPs':
      return podIPs(pod, sources).join(',');
    default:
      return metadataValue(metadata, fieldPath, where);
  }
}

/**
 * Value of a resourceFieldRef: a whole number of divisors, rounded up. Uses `container` if the reference names none.
 * kubelet: pkg/api/v1/resource/helpers.go ExtractContainerResourceValue
 */
export function containerResourceValue(
  pod: Pod,
  container: Pick<Container, 'resources'>,
  { containerName, resource: path, divisor }: ResourceFieldSelector,
  { allocatable }: Pick<DownwardSources, 'allocatable'>,
  where: string,
): string {
  const { resources = {} } = containerName ? containerNamed(pod, containerName, where) : container;
  const value = resourceFieldValue(resources, path, divisor, allocatable);
  if (value !== undefined) return value;
  throw new UserError(`${where}: "${path}" is not a resource`, {
    hint: 'Use limits. or requests. with cpu, memory, ephemeral-storage or a hugepages resource.',
  });
}

/** Addresses of the pod. A hostNetwork pod has those of the node. */
function podIPs({ spec }: Pod, sources: DownwardSources): readonly string[] {
  return spec.hostNetwork && sources.podIPs.length === 0 ? sources.nodeIPs : sources.podIPs;
}

/** Value of a metadata field. Throws a UserError for a whole map, which only a file can hold. */
function metadataValue(metadata: Pod['metadata'], fieldPath: string, where: string): string {
  const isMap = fieldPath === 'metadata.labels' || fieldPath === 'metadata.annotations';
  const value = isMap ? undefined : metadataFieldValue(metadata, fieldPath);
  if (value !== undefined) return value;
  throw new UserError(`${where}: "${fieldPath}" is not a field that a variable can hold`, {
    hint: `Use a field such as metadata.name, metadata.labels['key'], spec.nodeName or status.podIP.`,
  });
}

function containerNamed({ spec }: Pod, name: string, where: string): Container {
  const container = [...spec.containers, ...(spec.initContainers ?? [])].find((candidate) => candidate.name === name);
  if (container) return container;
  throw new UserError(`${where}: the pod has no container "${name}"`, {
    hint: 'Correct resourceFieldRef.containerName.',
  });
}
