import { type ByKind, byKind, type HookHandlers } from '../../../api/values/by-kind.ts';
import type { Lifecycle } from 'kubernetes-types/core/v1.js';
import type { Container, ContainerPort, Pod } from '../../../api/types.ts';
import { containerHashHex, goJSON } from '../../container/container-hash.ts';
import { criAnnotations, criLabels } from '../../container/labels.ts';

type LifecycleHandler = NonNullable<Lifecycle['preStop']>;
type HTTPGetAction = NonNullable<LifecycleHandler['httpGet']>;

/** Labels that identify a sandbox. kubelet: kuberuntime/labels.go newPodLabels */
export function identityLabels({ metadata }: Pod): Record<string, string> {
  return {
    [criLabels.podName]: metadata.name,
    [criLabels.podNamespace]: metadata.namespace,
    [criLabels.podUID]: metadata.uid,
  };
}

/**
 * Labels of a container. The pod's labels are only on the sandbox. kubelet: kuberuntime/labels.go newContainerLabels
 */
export function containerLabels(pod: Pod, { name }: Container): Record<string, string> {
  return { ...identityLabels(pod), [criLabels.containerName]: name };
}

/**
 * The annotations that the kubelet needs if the manifest was removed. `extra` comes from device plugins and cannot
 * override them. kubelet: kuberuntime/labels.go newContainerAnnotations
 */
export function containerAnnotations(
  { metadata, spec }: Pod,
  container: Container,
  restartCount: number,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { terminationMessagePath = '', terminationMessagePolicy = '', lifecycle, ports = [] } = container;
  const { deletionGracePeriodSeconds } = metadata;
  const { terminationGracePeriodSeconds } = spec;
  return {
    ...extra,
    [criAnnotations.containerHash]: containerHashHex(container),
    [criAnnotations.restartCount]: String(restartCount),
    [criAnnotations.terminationMessagePath]: terminationMessagePath,
    [criAnnotations.terminationMessagePolicy]: terminationMessagePolicy,
    ...(deletionGracePeriodSeconds !== undefined && {
      [criAnnotations.deletionGracePeriod]: String(deletionGracePeriodSeconds),
    }),
    ...(terminationGracePeriodSeconds !== undefined && {
      [criAnnotations.terminationGracePeriod]: int64Text(terminationGracePeriodSeconds),
    }),
    ...(lifecycle?.preStop && { [criAnnotations.preStopHandler]: goJSON(inAPIOrder(lifecycle.preStop)) }),
    ...(ports.length > 0 && { [criAnnotations.ports]: goJSON(ports.map(portInAPIOrder)) }),
  };
}

function inAPIOrder(handler: LifecycleHandler): LifecycleHandler | undefined {
  return byKind(handler, handlersInAPIOrder);
}

const handlersInAPIOrder: ByKind<HookHandlers, [], LifecycleHandler> = {
  exec: (exec) => ({ exec }),
  httpGet: (httpGet) => ({ httpGet: httpGetInAPIOrder(httpGet) }),
  tcpSocket: ({ port, host }) => ({ tcpSocket: { port, ...(host && { host }) } }),
  sleep: (sleep) => ({ sleep }),
};

function httpGetInAPIOrder({ path, port, host, scheme, httpHeaders = [] }: HTTPGetAction): HTTPGetAction {
  return {
    ...(path && { path }),
    port,
    ...(host && { host }),
    ...(scheme && { scheme }),
    ...(httpHeaders.length > 0 && { httpHeaders: httpHeaders.map(({ name, value }) => ({ name, value })) }),
  };
}

function portInAPIOrder({ name, hostPort, containerPort, protocol, hostIP }: ContainerPort): ContainerPort {
  return {
    ...(name && { name }),
    ...(hostPort && { hostPort }),
    containerPort,
    ...(protocol && { protocol }),
    ...(hostIP && { hostIP }),
  };
}

/** Formats an int64. JavaScript rounds the largest int64 up to 2^63. */
function int64Text(value: number): string {
  return value >= 2 ** 63 ? '9223372036854775807' : BigInt(value).toString();
}
