import type { EvictionSignal } from '../../api/values/eviction-thresholds.ts';
import type { Quantity, QuantityFormat } from '../../api/values/quantity.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { FsStats } from '../stats/summary.ts';
import type { NodeSummary } from './node-summary.ts';

/** Available amount and capacity of a signal's resource. */
export interface SignalObservation {
  available: Quantity;
  capacity: Quantity;
  /** An observation is ignored unless it is newer than the last. */
  atMonotonic: number;
}

/** An observation with its wall time. */
type Measured = Omit<SignalObservation, 'atMonotonic'> & { time: string };

export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/**
 * Returns the observations of all signals in a summary, except signals without data. kubelet: eviction/helpers.go
 * makeSignalObservations
 */
export function signalObservations(
  { node }: NodeSummary,
  wallClock: Pick<WallClockHistory, 'monotonicAt'>,
): SignalObservations {
  const { memory, fs, runtime, rlimit, systemContainers = [] } = node;
  const pods = systemContainers.find(({ name }) => name === 'pods')?.memory;
  const observed: [EvictionSignal, Measured | undefined][] = [
    ['memory.available', memoryObservation(memory)],
    ['allocatableMemory.available', memoryObservation(pods)],
    ...fsObservations('nodefs', fs),
    ...fsObservations('imagefs', runtime?.imageFs),
    ...fsObservations('containerfs', runtime?.containerFs),
    ['pid.available', processObservation(rlimit)],
  ];
  return new Map(
    observed.flatMap(([signal, one]) => {
      if (one === undefined) return [];
      const { time, ...amounts } = one;
      return [[signal, { ...amounts, atMonotonic: wallClock.monotonicAt(Date.parse(time)) }]];
    }),
  );
}

function memoryObservation(stats: NodeSummary['node']['memory']): Measured | undefined {
  const { availableBytes, workingSetBytes, time = '' } = stats ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return undefined;
  return observation(availableBytes, availableBytes + workingSetBytes, time, 'BinarySI');
}

function fsObservations(
  name: 'nodefs' | 'imagefs' | 'containerfs',
  stats: FsStats | undefined,
): [EvictionSignal, Measured | undefined][] {
  const { availableBytes, capacityBytes, inodesFree, inodes, time = '' } = stats ?? {};
  return [
    [`${name}.available`, observation(availableBytes, capacityBytes, time, 'BinarySI')],
    [`${name}.inodesFree`, observation(inodesFree, inodes, time, 'DecimalSI')],
  ];
}

function processObservation(stats: NodeSummary['node']['rlimit']): Measured | undefined {
  const { maxpid, curproc, time = '' } = stats ?? {};
  if (maxpid === undefined || curproc === undefined) return undefined;
  return observation(maxpid - curproc, maxpid, time, 'DecimalSI');
}

function observation(
  available: number | undefined,
  capacity: number | undefined,
  time: string,
  format: QuantityFormat,
): Measured | undefined {
  if (available === undefined || capacity === undefined) return undefined;
  const quantity = (amount: number): Quantity => ({ nanos: BigInt(amount) * 1_000_000_000n, format });
  return { available: quantity(available), capacity: quantity(capacity), time };
}
