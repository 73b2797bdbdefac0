import type { ContainerStatus, Pod } from '../../src/api/types.ts';
import { quantityMilliValue, quantityValue, toQuantity } from '../../src/api/values/quantity.ts';
import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../src/engine/container/runtime-pod-status.ts';
import type { ProbeResult, ProbeResults, ProbeType } from '../../src/engine/container/probe-results.ts';

/** What the runtime reports, as the golden tables write it. */
export interface GoldenRuntime {
  sandboxes: {
    id: string;
    attempt: number;
    state: string;
    networkMode: 'pod' | 'node';
    createdAt: string;
    ip: string | null;
  }[];
  containers: {
    id: string;
    name: string;
    state: RuntimeContainerState;
    createdAt: string;
    startedAt?: string;
    finishedAt?: string;
    exitCode?: number;
    image?: string;
    imageID?: string;
    hash?: number;
    restartCount?: number;
    reason?: string;
    message?: string;
    user?: NonNullable<ContainerStatus['user']>;
    resources?: { cpuRequest?: string; cpuLimit?: string; memoryLimit?: string };
  }[];
  ips?: string[];
}

export type GoldenProbes = Partial<Record<ProbeType, Record<string, ProbeResult>>>;

export function runtimePodStatus(pod: Pod, { sandboxes, containers, ips = [] }: GoldenRuntime): RuntimePodStatus {
  const { uid, name, namespace } = pod.metadata;
  return {
    uid,
    name,
    namespace,
    ips,
    sandboxStatuses: sandboxes.map(sandboxStatus),
    containerStatuses: containers.map(containerStatus),
  };
}

export function probeResults(probes: GoldenProbes): ProbeResults {
  const results = (type: ProbeType) => new Map(Object.entries(probes[type] ?? {}));
  return { liveness: results('liveness'), readiness: results('readiness'), startup: results('startup') };
}

function sandboxStatus({ id, attempt, state, networkMode, createdAt, ip }: GoldenRuntime['sandboxes'][number]) {
  const status: RuntimeSandboxStatus = {
    id,
    attempt,
    state: state === 'ready' ? 'ready' : 'notready',
    createdAt: Date.parse(createdAt),
    networkMode,
    ip,
  };
  return status;
}

function containerStatus(container: GoldenRuntime['containers'][number]): RuntimeContainerStatus {
  const { createdAt, startedAt, finishedAt, imageID = '', resources, ...rest } = container;
  return {
    exitCode: 0,
    image: '',
    hash: 0,
    restartCount: 0,
    reason: '',
    message: '',
    ...rest,
    ...(resources && { resources: reportedResources(resources) }),
    imageRef: imageID,
    createdAt: Date.parse(createdAt),
    startedAt: startedAt === undefined ? 0 : Date.parse(startedAt),
    finishedAt: finishedAt === undefined ? 0 : Date.parse(finishedAt),
  };
}

function reportedResources({
  cpuRequest,
  cpuLimit,
  memoryLimit,
}: NonNullable<GoldenRuntime['containers'][number]['resources']>): NonNullable<RuntimeContainerStatus['resources']> {
  return {
    ...(cpuRequest !== undefined && { cpuRequestMilli: quantityMilliValue(toQuantity(cpuRequest)) }),
    ...(cpuLimit !== undefined && { cpuLimitMilli: quantityMilliValue(toQuantity(cpuLimit)) }),
    ...(memoryLimit !== undefined && { memoryLimitBytes: quantityValue(toQuantity(memoryLimit)) }),
  };
}
