import type { DeepPartial, Device } from '../../../src/plugins/generated/device-plugin.ts';
import { codes } from '../../fakes/fake-calls.ts';
import { RpcError } from '../../../src/errors.ts';
import type { FakePlugin } from '../../fakes/fake-plugin.ts';
import type { CheckpointEntry, DeviceRecording, DeviceSnapshot, RecordedCheckpoint, Step } from './device-recording.ts';

/** What README says that a plugin lists, unless the recording says otherwise. */
const usualNodes: Readonly<Record<string, number[]>> = { d0: [0], d1: [0], d2: [1] };

/** Scripts a plugin to answer as the recorded one did. `elapsed` is the time of the scenario in seconds. */
export function scriptPlugin(
  plugin: FakePlugin,
  {
    recording,
    name,
    resource,
    elapsed,
  }: { recording: DeviceRecording; name: string; resource: string; elapsed: () => number },
): void {
  const calls = recording.sequence.filter((step) => step.plugin === name && step.call !== undefined);
  const entries = recording.snapshots.flatMap(({ checkpoint }) => dataOf(checkpoint)?.PodDeviceEntries ?? []);
  const failure = failures(recording);
  plugin.answers['getDevicePluginOptions'] = () => ({
    preStartRequired: calls.some(({ call }) => call === 'PreStartContainer'),
    getPreferredAllocationAvailable: calls.some(({ call }) => call === 'GetPreferredAllocation'),
  });
  plugin.answers['getPreferredAllocation'] = () => {
    if (failure.GetPreferredAllocation !== undefined) throw failure.GetPreferredAllocation;
    const next = recording.sequence.find(
      (step) => step.call === 'Allocate' && step.plugin === name && step.t >= elapsed() - 1,
    );
    return { containerResponses: [{ deviceIDs: idsOf(next) }] };
  };
  plugin.answers['allocate'] = ({ containerRequests }: { containerRequests: { devicesIds: string[] }[] }) => {
    if (failure.Allocate !== undefined) throw failure.Allocate;
    if (failure.isAllocateEmpty) return {};
    const ids = [...(containerRequests[0]?.devicesIds ?? [])].sort();
    return { containerResponses: [responseFor(ids, resource, entries)] };
  };
  plugin.answers['preStartContainer'] = () => {
    if (failure.PreStartContainer !== undefined && elapsed() <= failure.untilT) throw failure.PreStartContainer;
    return {};
  };
}

export const idsOf = (step: Step | undefined): string[] =>
  ((step?.request?.['container_requests'] as { devices_ids?: string[] }[] | undefined) ?? []).flatMap(
    ({ devices_ids: ids = [] }) => ids,
  );

function failures({ snapshots }: DeviceRecording) {
  const messages = snapshots.flatMap(({ t, pods }) =>
    Object.values(pods).flatMap(({ message = '', containers = {} }) => [
      { t, text: message },
      ...Object.values(containers).map((state) => ({ t, text: state['waiting']?.message ?? '' })),
    ]),
  );
  const thrown = (pattern: RegExp): RpcError | undefined => {
    const found = messages.map(({ text }) => pattern.exec(text)).find((match) => match !== null);
    return found ? new RpcError('scripted', codes.unknown, found[1] ?? '') : undefined;
  };
  const desc = String.raw`rpc error: code = Unknown desc = (.*?)(?:, which is unexpected|$)`;
  return {
    GetPreferredAllocation: thrown(new RegExp(`GetPreferredAllocation rpc failed with err: ${desc}`)),
    Allocate: thrown(new RegExp(`Allocate failed due to ${desc}`)),
    PreStartContainer: thrown(new RegExp(`PreStartContainer rpc failed with err: ${desc}`)),
    isAllocateEmpty: messages.some(({ text }) => text.includes('no containers return in allocation response')),
    untilT: Math.max(0, ...messages.filter(({ text }) => text.includes('PreStartContainer rpc')).map(({ t }) => t)),
  };
}

function responseFor(ids: string[], resource: string, entries: readonly CheckpointEntry[]): object {
  const ofResource = entries.filter(({ ResourceName }) => ResourceName === resource);
  const same = ofResource.find(
    ({ DeviceIDs }) => [...new Set(Object.values(DeviceIDs).flat())].sort().join() === ids.join(),
  );
  const recorded = same ?? ofResource[0];
  if (recorded === undefined) return {};
  const decoded = recorded.AllocRespDecoded as
    | {
        envs?: Record<string, string>;
        mounts?: { container_path: string; host_path: string; read_only?: boolean }[];
        devices?: { container_path: string; host_path: string; permissions: string }[];
        annotations?: Record<string, string>;
        cdi_devices?: { name: string }[];
      }
    | undefined;
  const { envs = {}, mounts = [], devices = [], annotations = {}, cdi_devices: cdiDevices = [] } = decoded ?? {};
  return {
    envs,
    mounts: mounts.map((one) => ({
      containerPath: one.container_path,
      hostPath: one.host_path,
      readOnly: one.read_only ?? false,
    })),
    devices: devices.map((one) => ({
      containerPath: one.container_path,
      hostPath: one.host_path,
      permissions: one.permissions,
    })),
    annotations,
    cdiDevices,
  };
}

/**
 * The devices that a plugin listed at a time. The engine takes devices in their order, so those come first that the
 * kubelet happened to take next.
 */
export function listedDevices(
  recording: DeviceRecording,
  name: string,
  resource: string,
  t: number,
): DeepPartial<Device>[] {
  const sent = recording.sequence.findLast(
    (step) => step.plugin === name && step.devices !== undefined && step.t <= t,
  )?.devices;
  const replacedAt = recording.sequence.find(
    (step) => step.did === 'Register' && step.t > t && step.request?.['resource_name'] === resource,
  )?.t;
  const snapshots = recording.snapshots.filter((snapshot) => snapshot.t >= t && snapshot.t <= (replacedAt ?? Infinity));
  const healthy = snapshots
    .map(({ checkpoint }) => dataOf(checkpoint)?.RegisteredDevices[resource])
    .find((ids) => ids !== undefined);
  const all = sent?.map(({ ID = '' }) => ID) ?? healthy ?? Object.keys(usualNodes);
  const ids =
    all.length === 0 && !recording.snapshots.some(({ podresources }) => podresources.GetAllocatableResources.devices)
      ? []
      : all;
  return inTakenOrder(recording, name, t, ids).map((id) => {
    const own = sent?.find(({ ID }) => ID === id);
    const nodes = own
      ? (own.topology?.nodes ?? []).map(({ ID = 0 }) => ID)
      : nodesOf(recording.snapshots, resource, id);
    return { ID: id, health: own?.health ?? 'Healthy', ...topologyOf(nodes) };
  });
}

const topologyOf = (nodes: number[]): { topology?: { nodes: { ID: bigint }[] } } =>
  nodes.length === 0 ? {} : { topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) } };

function nodesOf(snapshots: readonly DeviceSnapshot[], resource: string, id: string): number[] {
  for (const { podresources } of snapshots) {
    const entries = (podresources.GetAllocatableResources.devices ?? []).filter(
      (one) => one.resource_name === resource && one.device_ids.includes(id),
    );
    if (entries.length > 0) return entries.flatMap(({ topology }) => (topology?.nodes ?? []).map(({ ID = 0 }) => ID));
  }
  return usualNodes[id] ?? [];
}

/** First those of the next allocations; of several in one, those that come again. */
function inTakenOrder({ sequence }: DeviceRecording, name: string, t: number, ids: readonly string[]): string[] {
  const end = sequence.find((step) => step.t > t + 0.3 && step.did?.startsWith('manifest ') === true)?.t ?? Infinity;
  const taken = sequence
    .filter((step) => step.call === 'Allocate' && step.plugin === name && step.t >= t && step.t <= end)
    .map(idsOf);
  const rank = (id: string): [number, number] => {
    const first = taken.findIndex((some) => some.includes(id));
    return [first === -1 ? Infinity : first, -taken.filter((some) => some.includes(id)).length];
  };
  return [...ids].sort((a, b) => {
    const [[firstA, countA], [firstB, countB]] = [rank(a), rank(b)];
    return firstA === firstB ? countA - countB : firstA - firstB;
  });
}

const dataOf = (checkpoint: DeviceSnapshot['checkpoint']): RecordedCheckpoint['Data'] | undefined =>
  checkpoint === 'ENOENT' ? undefined : checkpoint?.Data;
