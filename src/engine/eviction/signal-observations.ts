import type { EvictionSignal } from '../../api/values/eviction-thresholds.ts';
import type { Quantity, QuantityFormat } from '../../api/values/quantity.ts';
import type { FsStats } from '../stats/summary.ts';
import type { NodeSummary } from './node-summary.ts';

/** Available amount and capacity of a signal's resource. */
export interface SignalObservation {
  available: Quantity;
  capacity: Quantity;
  /** Milliseconds since the epoch. An observation that is not newer is ignored. */
  time: number;
}

export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/**
 * Observations of all signals in a summary. Signals without data are left out. kubelet: eviction/helpers.go
 * makeSignalObservations
 */
export function signalObservations({ node }: NodeSummary): SignalObservations {
  const { memory, fs, runtime, rlimit, systemContainers = [] } = node;
  const pods = systemContainers.find(({ name }) => name === 'pods')?.memory;
  const observed: [EvictionSignal, SignalObservation | undefined][] = [
    ['memory.available', memoryObservation(memory)],
    ['allocatableMemory.available', memoryObservation(pods)],
    ...fsObservations('nodefs', fs),
    ...fsObservations('imagefs', runtime?.imageFs),
    ...fsObservations('containerfs', runtime?.containerFs),
    ['pid.available', processObservation(rlimit)],
  ];
  return new Map(observed.flatMap(([signal, observation]) => (observation ? [[signal, observation]] : [])));
}

function memoryObservation(stats: NodeSummary['node']['memory']): SignalObservation | undefined {
  const { availableBytes, workingSetBytes, time = '' } = stats ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return undefined;
  return observation(availableBytes, availableBytes + workingSetBytes, time, 'BinarySI');
}

function fsObservations(
  name: 'nodefs' | 'imagefs' | 'containerfs',
  stats: FsStats | undefined,
): [EvictionSignal, SignalObservation | undefined][] {
  const { availableBytes, capacityBytes, inodesFree, inodes, time = '' } = stats ?? {};
  return [
    [`${name}.available`, observation(availableBytes, capacityBytes, time, 'BinarySI')],
    [`${name}.inodesFree`, observation(inodesFree, inodes, time, 'DecimalSI')],
  ];
}

function processObservation(stats: NodeSummary['node']['rlimit']): SignalObservation | undefined {
  const { maxpid, curproc, time = '' } = stats ?? {};
  if (maxpid === undefined || curproc === undefined) return undefined;
  return observation(maxpid - curproc, maxpid, time, 'DecimalSI');
}

function observation(
  available: number | undefined,
  capacity: number | undefined,
  time: string,
  format: QuantityFormat,
): SignalObservation | undefined {
  if (available === undefined || capacity === undefined) return undefined;
  const quantity = (amount: number): Quantity => ({ nanos: BigInt(amount) * 1_000_000_000n, format });
  return { available: quantity(available), capacity: quantity(capacity), time: Date.parse(time) };
}
