import {
  type ConfigData,
  type ConfigObject,
  isConfigData,
  isNodeClass,
  isServiceAddresses,
} from '../../api/values/config-object.ts';
import type { NodeClass } from '../../api/values/node-class.ts';
import type { StorageObject } from '../../api/values/persistent-volume.ts';
import { hasNodePorts, type Service, type ServiceAddresses } from '../../api/values/service.ts';
import type { Pod } from '../../api/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { objectText } from '../io/json-text.ts';

/**
 * The declared objects as the agent would hold them: pods with defaults, the node name and their source's annotation.
 * Values of Secrets are replaced by their sizes.
 */
export function printedObjects({ source, pods, configObjects = [] }: SourceUpdate): object[] {
  return [...configObjects.map(shownConfigObject), ...pods.map((pod) => podObject(pod, source))];
}

/** Objects as YAML documents, or as JSON: a List for API objects, else an array. */
export async function listText(objects: readonly object[], output: 'text' | 'json' | 'yaml'): Promise<string> {
  if (output === 'json') {
    const isAPI = objects.every((object) => 'apiVersion' in object);
    return objectText(isAPI ? { apiVersion: 'v1', kind: 'List', items: objects } : objects, output, 2);
  }
  return (await Promise.all(objects.map((object) => objectText(object, 'yaml')))).join('---\n');
}

function podObject({ metadata, ...pod }: Pod, source: SourceUpdate['source']): object {
  const annotations = { ...metadata.annotations, [configAnnotations.source]: source };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, annotations }, ...pod };
}

/** Formats one object like `printedObjects`. */
export function shownConfigObject(object: ConfigObject): object {
  if (isConfigData(object)) return shownData(object);
  if (object.kind === 'Service') return shownService(object);
  if (isServiceAddresses(object)) return shownAddresses(object);
  return isNodeClass(object) ? shownClass(object) : shownStorage(object);
}

function shownClass(held: NodeClass): object {
  const { kind, name } = held;
  if (kind === 'PriorityClass') {
    const { value, globalDefault, preemptionPolicy } = held;
    const start = { apiVersion: 'scheduling.k8s.io/v1', kind, metadata: { name } };
    return { ...start, value, ...(globalDefault && { globalDefault }), preemptionPolicy };
  }
  const { handler, overhead, nodeSelector, tolerations } = held;
  const scheduling = { ...(nodeSelector && { nodeSelector }), ...(tolerations && { tolerations }) };
  return {
    apiVersion: 'node.k8s.io/v1',
    kind,
    metadata: { name },
    handler,
    ...(overhead && { overhead: { podFixed: overhead } }),
    ...(Object.keys(scheduling).length > 0 && { scheduling }),
  };
}

function shownService(service: Service): object {
  const { kind, name, namespace } = service;
  const { type, clusterIPs, ipFamilies, ipFamilyPolicy, selector, ports, affinitySeconds, externalName } = service;
  const { publishNotReadyAddresses, internalTrafficPolicy, externalTrafficPolicy, choosesNodePorts } = service;
  const [clusterIP] = clusterIPs;
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace },
    spec: {
      type,
      publishNotReadyAddresses,
      internalTrafficPolicy,
      ...(type !== 'ExternalName' && { ipFamilyPolicy }),
      ...(hasNodePorts(service) && { externalTrafficPolicy }),
      ...(type === 'LoadBalancer' && { allocateLoadBalancerNodePorts: choosesNodePorts }),
      ...(clusterIP !== undefined && { clusterIP, clusterIPs }),
      ...(ipFamilies.length > 0 && { ipFamilies }),
      ...(Object.keys(selector).length > 0 && { selector }),
      ...(ports.length > 0 && { ports: ports.map(shownPort) }),
      ...(affinitySeconds > 0 && {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } },
      }),
      ...(externalName !== '' && { externalName }),
    },
  };
}

function shownPort({ name, nodePort, ...port }: Service['ports'][number]): object {
  return { ...(name !== '' && { name }), ...port, ...(nodePort !== 0 && { nodePort }) };
}

function shownAddresses({ kind, name, namespace, service, subsets }: ServiceAddresses): object {
  if (kind === 'Endpoints') {
    const shown = subsets.map(({ ips, ports }) => ({ addresses: ips.map((ip) => ({ ip })), ports }));
    return { apiVersion: 'v1', kind, metadata: { name, namespace }, subsets: shown };
  }
  const [{ ips, ports } = { ips: [], ports: [] }] = subsets;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind,
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': service } },
    addressType: ips.some((ip) => ip.includes(':')) ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: ips }],
    ports,
  };
}

function shownStorage(held: StorageObject): object {
  if (held.kind === 'CSIDriver') {
    const { kind, name, ...spec } = held;
    return { apiVersion: 'storage.k8s.io/v1', kind, metadata: { name }, spec };
  }
  if (held.kind === 'PersistentVolume') {
    const { kind, name, labels, storage, source, ...spec } = held;
    const metadata = { name, ...(Object.keys(labels).length > 0 && { labels }) };
    return { apiVersion: 'v1', kind, metadata, spec: { capacity: { storage }, ...spec, ...source } };
  }
  const { kind, name, namespace, storage, ...spec } = held;
  const resources = { requests: { storage } };
  return { apiVersion: 'v1', kind, metadata: { name, namespace }, spec: { ...spec, resources } };
}

function shownData({ kind, namespace, name, type, immutable, data, binaryData }: ConfigData): object {
  const show = kind === 'Secret' ? sizeText : textOf;
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace },
    ...(type !== '' && { type }),
    ...(immutable && { immutable }),
    ...(data.size > 0 && { data: mapped(data, show) }),
    ...(binaryData.size > 0 && { binaryData: mapped(binaryData, base64) }),
  };
}

const sizeText = (value: Uint8Array): string => `<${value.length} bytes>`;
const textOf = (value: Uint8Array): string => Buffer.from(value).toString();
const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');

function mapped(data: ReadonlyMap<string, Uint8Array>, show: (value: Uint8Array) => string): Record<string, string> {
  return Object.fromEntries([...data].map(([key, value]) => [key, show(value)]));
}
