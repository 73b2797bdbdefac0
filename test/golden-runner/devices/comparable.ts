import type { PodStatus } from '../../../src/api/types.ts';
import { ContainerAllocateResponse } from '../../../src/plugins/generated/device-plugin.ts';
import type {
  CheckpointEntry,
  Created,
  DeviceEntry,
  DeviceRecording,
  DeviceSnapshot,
  RecordedCheckpoint,
  RecordedPod,
} from './device-recording.ts';
import { idsOf } from './plugin-script.ts';

/** A snapshot without what is random: lists in one order, no times, no checksum. */
export function comparableSnapshot({ podresources, checkpoint, pods }: DeviceSnapshot): object {
  const { List, GetAllocatableResources, Get } = podresources;
  return {
    List: (List.pod_resources ?? [])
      .map((pod) => ({
        ...pod,
        containers: (pod.containers ?? []).map((one) => ({ ...one, devices: inOneOrder(one.devices) })),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    GetAllocatableResources: { ...GetAllocatableResources, devices: inOneOrder(GetAllocatableResources.devices) },
    Get,
    ...(checkpoint !== undefined && checkpoint !== 'ENOENT' && { checkpoint: comparableCheckpoint(checkpoint.Data) }),
    pods: Object.fromEntries(Object.entries(pods).map(([name, pod]) => [name, comparablePod(pod)])),
  };
}

const inOneOrder = (devices: readonly DeviceEntry[] = []): DeviceEntry[] =>
  [...devices].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

function comparableCheckpoint({ PodDeviceEntries, RegisteredDevices }: RecordedCheckpoint['Data']): object {
  const entries = (PodDeviceEntries ?? []).map(
    ({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocRespDecoded }) => ({
      PodUID,
      ContainerName,
      ResourceName,
      DeviceIDs: Object.fromEntries(Object.entries(DeviceIDs).map(([node, ids]) => [node, [...ids].sort()])),
      AllocRespDecoded: AllocRespDecoded ?? {},
    }),
  );
  return {
    entries: entries.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    registered: Object.fromEntries(Object.entries(RegisteredDevices).map(([name, ids]) => [name, [...ids].sort()])),
  };
}

function comparablePod({ phase, reason, message, containers = {} }: RecordedPod): object {
  const states = Object.entries(containers).map(([name, state]) => [name, Object.entries(state).map(stateText).join()]);
  return { phase, reason, message, containers: Object.fromEntries(states) as object };
}

function stateText([state, { reason = '', message = '', exitCode }]: [
  string,
  { reason?: string; message?: string; exitCode?: number },
]): string {
  // A status lags: what has ended waits for its next start soon.
  if (state === 'terminated' || reason === 'CrashLoopBackOff') return 'ended';
  return [state, reason, message, exitCode].filter((part) => part !== undefined && part !== '').join(' ');
}

/** A status of ours as it was recorded. What we add to a refusal is cut off. */
export function ownPod({
  phase,
  reason,
  message,
  containerStatuses = [],
  initContainerStatuses = [],
}: PodStatus = {}): RecordedPod {
  const states = [...initContainerStatuses, ...containerStatuses].map(({ name, state = {} }) => [name, state]);
  return {
    ...(phase !== undefined && { phase }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message: message.replace(/\. The agent tries again as soon as .*$/, '') }),
    containers: Object.fromEntries(states) as NonNullable<RecordedPod['containers']>,
  };
}

/** Our checkpoint with the names of pods in the place of their UIDs. */
export function ownCheckpoint(file: string, uids: ReadonlyMap<string, string>): RecordedCheckpoint {
  const content = JSON.parse(file) as RecordedCheckpoint;
  const entries = (content.Data.PodDeviceEntries ?? []).map((entry): CheckpointEntry => ({
    ...entry,
    PodUID: uids.get(entry.PodUID) ?? entry.PodUID,
    AllocRespDecoded: decoded(entry.AllocResp),
  }));
  return { Data: { ...content.Data, PodDeviceEntries: entries } };
}

function decoded(base64: string): Record<string, unknown> {
  const { envs, mounts, devices, annotations, cdiDevices } = ContainerAllocateResponse.decode(
    Buffer.from(base64, 'base64'),
  );
  const lists = {
    envs,
    mounts: mounts.map((one) => ({
      container_path: one.containerPath,
      host_path: one.hostPath,
      ...(one.readOnly && { read_only: true }),
    })),
    devices: devices.map((one) => ({
      container_path: one.containerPath,
      host_path: one.hostPath,
      permissions: one.permissions,
    })),
    annotations,
    cdi_devices: cdiDevices,
  };
  return Object.fromEntries(Object.entries(lists).filter(([, value]) => Object.keys(value).length > 0));
}

/** The calls of a recording whose order is not random. */
export function recordedCalls({ sequence }: DeviceRecording): string[] {
  return inOrder(
    sequence.flatMap(({ call, did, cri, plugin, request = {}, answer, pod = '', container = '' }) => {
      if (did === 'Register') {
        const { resource_name: name, endpoint } = request as Record<string, string>;
        return `Register ${name ?? ''} at ${endpoint ?? ''}: ${answer?.error?.message ?? 'ok'}`;
      }
      if (cri === 'RunPodSandbox') return `RunPodSandbox ${pod}`;
      if (cri === 'CreateContainer') return `CreateContainer ${pod}/${container}`;
      return (call === undefined ? undefined : callText(plugin ?? '', call, request)) ?? [];
    }),
  );
}

/** Returns undefined for calls that race with others. */
export function callText(plugin: string, call: string, request: Record<string, unknown>): string | undefined {
  const sorted = (value: unknown): string => [...((value as string[] | undefined) ?? [])].sort().join();
  const [first = {}] = (request['container_requests'] as Record<string, unknown>[] | undefined) ?? [];
  switch (call) {
    case 'Allocate':
      return `${plugin} Allocate ${[...idsOf({ t: 0, request })].sort().join()}`;
    case 'PreStartContainer':
      return `${plugin} PreStartContainer ${sorted(request['devices_ids'])}`;
    case 'GetPreferredAllocation': {
      const must = sorted(first['must_include_deviceIDs']);
      return `${plugin} GetPreferredAllocation ${String(first['allocation_size'])} of ${sorted(first['available_deviceIDs'])} with ${must}`;
    }
    case 'GetInfo':
    case 'GetDevicePluginOptions':
      return `${plugin} ${call}`;
    case 'NotifyRegistrationStatus':
      return `${plugin} ${call} ${(request['error'] as string | undefined) ?? 'ok'}`;
    default:
      return undefined;
  }
}

/** Without repetitions, whose number is one of time. Two plugins are asked in random order. */
export function inOrder(calls: readonly string[]): string[] {
  const kept: string[] = [];
  for (const call of calls) {
    const isRepeated = / (GetInfo|NotifyRegistrationStatus)/.test(call) && kept.includes(call);
    if (kept.at(-1) === call || isRepeated) continue;
    const before = kept.at(-1);
    const areOfTwo =
      call.includes(' Allocate ') &&
      (before ?? '').includes(' Allocate ') &&
      before?.split(' ')[0] !== call.split(' ')[0];
    if (areOfTwo && before !== undefined && before > call) kept.splice(-1, 1, call, before);
    else kept.push(call);
  }
  return kept;
}

/** Containers by pod and name, in the order of their creation. */
export function comparableCreated(created: readonly Created[]): object[] {
  return created.map(
    ({ pod, container, devices = [], CDI_devices: cdi = [], envs = [], mounts = [], annotations = {} }) => ({
      pod,
      container,
      devices,
      cdi,
      // The agent has no service of an API server to name.
      envs: envs
        .filter(({ key }) => !key.startsWith('KUBERNETES_SERVICE_'))
        .map(({ key, value = '' }) => `${key}=${value}`)
        .sort(),
      mounts: mounts.map((one) => `${one.container_path} ${one.host_path} ${one.readonly === true ? 'ro' : 'rw'}`),
      annotations: Object.entries(annotations)
        .filter(([key]) => !/\.(hash|restartCount)$/.test(key))
        .map(([key, value]) => `${key}=${value}`)
        .sort(),
    }),
  );
}
