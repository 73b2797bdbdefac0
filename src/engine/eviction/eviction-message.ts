import type { Pod } from '../../api/types.ts';
import {
  type EvictionSignal,
  type EvictionThreshold,
  thresholdQuantity,
} from '../../api/values/eviction-thresholds.ts';
import { podLevelAmounts } from '../../api/values/pod-level-resources.ts';
import { compareQuantities, formatQuantity, type Quantity, toQuantity } from '../../api/values/quantity.ts';
import { diskOf } from './disk-layout.ts';
import type { PodUsage } from './node-summary.ts';
import type { SignalObservation } from './signal-observations.ts';

/** Returns the resource of a signal, under the name that users know. kubelet: eviction/helpers.go signalToResource */
export function resourceOf(signal: EvictionSignal): string {
  if (signal === 'pid.available') return 'pids';
  if (diskOf(signal) === undefined) return 'memory';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

/**
 * Returns why the pod is evicted. `usage` is undefined if it is unknown. kubelet: eviction/helpers.go evictionMessage
 */
export function evictionMessage(
  { metadata, spec }: Pod,
  { signal, value }: EvictionThreshold,
  observed: SignalObservation | undefined,
  usage: PodUsage | undefined,
): string {
  const resource = resourceOf(signal);
  const containers = new Map([...spec.containers, ...(spec.initContainers ?? [])].map((one) => [one.name, one]));
  const ofPod = podLevelAmounts(spec, 'requests')[resource];
  const consumers = (usage?.containers ?? []).flatMap((stats) => {
    const container = containers.get(stats.name);
    const requested = container?.resources?.requests?.[resource];
    // The request of the pod covers containers without a request.
    if (container === undefined || (requested === undefined && ofPod !== undefined)) return [];
    return consumptionText(`Container ${stats.name}`, resource, usedQuantity(resource, stats), requested) ?? [];
  });
  if (ofPod !== undefined) {
    const used = bytes(usage?.memory?.workingSetBytes);
    consumers.unshift(...(consumptionText(`Pod ${metadata.name}`, resource, used, ofPod) ?? []));
  }
  const texts = [`The node was low on resource: ${resource}. `];
  if (observed !== undefined) {
    const quantity = formatQuantity(thresholdQuantity(value, observed.capacity));
    texts.push(`Threshold quantity: ${quantity}, available: ${formatQuantity(observed.available)}. `);
  }
  return [...texts, ...consumers].join('');
}

/** Returns undefined if the consumer uses no more than it requests, or its usage is unknown. */
function consumptionText(
  consumer: string,
  resource: string,
  used: Quantity | undefined,
  request: string | undefined,
): [string] | undefined {
  const requested = toQuantity(request);
  if (used === undefined || compareQuantities(used, requested) <= 0) return undefined;
  const texts = [formatQuantity(used), `request is ${formatQuantity(requested)}`];
  return [`${consumer} was using ${texts.join(', ')}, has larger consumption of ${resource}. `];
}

function usedQuantity(
  resource: string,
  { memory, rootfs, logs }: PodUsage['containers'][number],
): Quantity | undefined {
  if (resource === 'memory') return bytes(memory?.workingSetBytes);
  if (resource !== 'ephemeral-storage') return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return bytes(rootfs.usedBytes + logs.usedBytes);
}

function bytes(amount: number | undefined): Quantity | undefined {
  return amount === undefined ? undefined : { nanos: BigInt(amount) * 1_000_000_000n, format: 'BinarySI' };
}
