import type { Container, Pod } from '../../../src/api/types.ts';
import { podOf } from '../server/recorded-pods.ts';
import type {
  DeviceEntry,
  DeviceRecording,
  DeviceSnapshot,
  PodEntry,
  PodResourcesAnswers,
  RecordedDevice,
  Step,
} from './device-recording.ts';

/** Answers at one moment or at several; test/golden/server/README.md says what each member means. */
export interface PodResourcesCase extends Partial<PodResourcesAnswers>, Pick<DeviceRecording, 'gets'> {
  name: string;
  flags?: string[] | null;
  manifests: Readonly<Record<string, string>>;
  snapshots?: ({ label: string } & PodResourcesAnswers)[];
  cpus?: { GetAllocatableResources: number[]; numberOfCpus: number };
}

/** Seconds between two steps. */
const stepSeconds = 2;

/**
 * A scenario that leads to the answers: a plugin lists the devices that are in use or free, the pods that have devices
 * come, the plugin lists what is left, and the others come. Returns undefined if a pod would get devices there that it
 * did not get.
 */
export function rebuiltRecording(recorded: PodResourcesCase): DeviceRecording | undefined {
  const { name, flags, manifests, cpus, gets } = recorded;
  const moments = momentsOf(recorded);
  const pods = new Map(Object.entries(manifests).map(([file, text]) => [podOf(text).metadata.name, { file, text }]));
  if (moments.some((moment) => isUnexplained(moment, Object.values(manifests).map(podOf)))) return undefined;
  const scenario = new Scenario((podName) => pods.get(podName)?.file ?? '');
  for (const moment of moments) scenario.reach(moment);
  const { sequence, snapshots } = scenario;
  return {
    ...{ name, manifests, sequence, snapshots, created: [] },
    ...(flags && { flags }),
    ...(gets && { gets }),
    ...(cpus && { cpus: cpus.numberOfCpus }),
  };
}

type Moment = { label: string } & PodResourcesAnswers;

function momentsOf({
  name,
  snapshots,
  List = {},
  GetAllocatableResources = {},
  Get = {},
  cpus,
}: PodResourcesCase): Moment[] {
  const moments = snapshots ?? [{ label: name, List, GetAllocatableResources, Get }];
  return moments.map((moment) => {
    const { GetAllocatableResources: allocatable } = moment;
    const isAll = allocatable.cpu_ids === '{all cpus}' && cpus !== undefined;
    return isAll
      ? { ...moment, GetAllocatableResources: { ...allocatable, cpu_ids: cpus.GetAllocatableResources } }
      : moment;
  });
}

/** The steps up to each moment. */
class Scenario {
  readonly sequence: Step[] = [];
  readonly snapshots: DeviceSnapshot[] = [];
  readonly #fileOf: (pod: string) => string;
  readonly #written = new Set<string>();
  /** What the plugin of a resource lists. */
  readonly #listed = new Map<string, string>();
  #t = 0;

  constructor(fileOf: (pod: string) => string) {
    this.#fileOf = fileOf;
    this.sequence.push({ t: 0, did: 'kubelet started' });
  }

  reach({ label, ...podresources }: Moment): void {
    const pods = podresources.List.pod_resources ?? [];
    const free = podresources.GetAllocatableResources.devices ?? [];
    const taken = pods.flatMap(entriesOf);
    for (const pod of this.#written) if (!pods.some(({ name }) => name === pod)) this.#write(pod, 'removed');
    for (const [resource, entries] of byResource([...taken, ...free])) this.#list(resource, entries);
    const [withDevices, others] = [pods.filter(hasDevices), pods.filter((pod) => !hasDevices(pod))];
    for (const pod of withDevices) {
      this.#write(pod.name, 'written');
      for (const entry of entriesOf(pod)) this.#take(entry);
    }
    for (const resource of [...this.#listed.keys()]) this.#list(resource, byResource(free).get(resource) ?? []);
    for (const { name } of others) this.#write(name, 'written');
    this.snapshots.push({ t: this.#next(), label, podresources, pods: {} });
  }

  #next(): number {
    this.#t += stepSeconds;
    return this.#t;
  }

  #write(pod: string, how: 'written' | 'removed'): void {
    if (this.#written.has(pod) === (how === 'written')) return;
    if (how === 'written') this.#written.add(pod);
    else this.#written.delete(pod);
    this.sequence.push({ t: this.#next(), did: `manifest ${this.#fileOf(pod)} ${how}` });
  }

  /** Tells which devices the pods get, and in which order. */
  #take({ resource_name: plugin, device_ids: ids }: DeviceEntry): void {
    const request = { container_requests: [{ devices_ids: ids }] };
    this.sequence.push({ t: this.#t, plugin, call: 'Allocate', request });
  }

  #list(resource: string, entries: readonly DeviceEntry[]): void {
    const devices = devicesOf(entries);
    const text = JSON.stringify(devices);
    const before = this.#listed.get(resource);
    if (before === text || (before === undefined && devices.length === 0)) return;
    if (devices.length === 0) this.#listed.delete(resource);
    else this.#listed.set(resource, text);
    const endpoint = `${resource.replaceAll('/', '-')}.sock`;
    const t = this.#next();
    if (devices.length === 0) this.sequence.push({ t, plugin: resource, did: 'stopped' });
    else if (before === undefined) {
      const request = { version: 'v1beta1', endpoint, resource_name: resource };
      this.sequence.push({ t, plugin: resource, did: 'Register', request, answer: { ok: true }, devices });
    } else this.sequence.push({ t, plugin: resource, did: 'sent devices', devices });
  }
}

const entriesOf = ({ containers = [] }: PodEntry): DeviceEntry[] => containers.flatMap(({ devices = [] }) => devices);

const hasDevices = (pod: PodEntry): boolean => entriesOf(pod).length > 0;

function byResource(entries: readonly DeviceEntry[]): Map<string, DeviceEntry[]> {
  const found = new Map<string, DeviceEntry[]>();
  for (const entry of entries) found.set(entry.resource_name, [...(found.get(entry.resource_name) ?? []), entry]);
  return found;
}

/** An entry is a device, or a device on one of its NUMA nodes. */
function devicesOf(entries: readonly DeviceEntry[]): RecordedDevice[] {
  const nodes = new Map<string, Set<number>>();
  for (const { device_ids: ids, topology } of entries) {
    for (const id of ids) {
      const known = nodes.get(id) ?? new Set();
      for (const { ID = 0 } of topology?.nodes ?? []) known.add(ID);
      nodes.set(id, known);
    }
  }
  return [...nodes].map(([ID, on]) => ({
    ID,
    health: 'Healthy',
    topology: { nodes: [...on].map((id) => ({ ID: id })) },
  }));
}

/** True if a pod that runs has none of the devices that it asks for, while enough of them are free. */
function isUnexplained({ List, GetAllocatableResources }: Moment, pods: readonly Pod[]): boolean {
  const listed = List.pod_resources ?? [];
  const taken = new Set(listed.flatMap(entriesOf).map(keyOf));
  const free = (GetAllocatableResources.devices ?? []).filter((entry) => !taken.has(keyOf(entry)));
  const freeOf = (resource: string): number =>
    new Set(free.filter((one) => one.resource_name === resource).map(keyOf)).size;
  return pods.some(({ metadata, spec }) => {
    const entry = listed.find(({ name }) => name === metadata.name);
    if (entry === undefined || hasDevices(entry) || spec.containers.every(ends)) return false;
    const wanted = byWanted(spec.containers);
    return wanted.size > 0 && [...wanted].every(([resource, count]) => count <= freeOf(resource));
  });
}

const keyOf = ({ resource_name: resource, device_ids: ids }: DeviceEntry): string => `${resource} ${ids.join()}`;

const ends = ({ command = [] }: Container): boolean => command[1]?.startsWith('exit:') === true;

/** Numbers of devices by resource. */
function byWanted(containers: readonly Container[]): Map<string, number> {
  const wanted = new Map<string, number>();
  for (const { resources: { limits = {} } = {} } of containers) {
    for (const [resource, count] of Object.entries(limits)) {
      if (resource.includes('/')) wanted.set(resource, (wanted.get(resource) ?? 0) + Number(count));
    }
  }
  return wanted;
}
