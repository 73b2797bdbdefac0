import { parseDuration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { ConfigurationErrors } from './configuration-errors.ts';
import type { KubeletConfiguration } from './types.ts';

/** What eviction looks at. kubelet: eviction/api/types.go, eviction/helpers.go ParseThresholdConfig */
const signals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
];

/** kubelet: eviction/helpers.go ParseThresholdConfig */
export function validateEviction(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  for (const name of ['evictionHard', 'evictionSoft'] as const) {
    for (const [signal, value] of Object.entries(kc[name])) {
      const field = `${name}[${signal}]`;
      if (!signals.includes(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
      else if (!isThreshold(value)) errors.add(field, `"${value}" must be a positive quantity or 0% to 100%`);
    }
  }
  for (const signal of Object.keys(kc.evictionSoft)) {
    if (kc.evictionSoftGracePeriod[signal] !== undefined) continue;
    errors.add(`evictionSoft[${signal}]`, 'has no grace period', `Add ${signal} to evictionSoftGracePeriod.`);
  }
  for (const [signal, value] of Object.entries(kc.evictionSoftGracePeriod)) {
    const field = `evictionSoftGracePeriod[${signal}]`;
    const duration = parseDuration(value);
    if (!signals.includes(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (duration === undefined || duration < 0n)
      errors.add(field, `"${value}" must be a duration such as "1m30s"`);
  }
  for (const [signal, value] of Object.entries(kc.evictionMinimumReclaim)) {
    const field = `evictionMinimumReclaim[${signal}]`;
    if (!signals.includes(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (!isReclaim(value)) errors.add(field, `"${value}" must be a quantity or a percentage`);
  }
}

const knownSignals = `Known are ${signals.join(', ')}.`;

function isThreshold(value: string): boolean {
  const percentage = percentageOf(value);
  if (percentage !== undefined) return percentage >= 0 && percentage <= 100;
  return (parseQuantity(value)?.nanos ?? 0n) > 0n;
}

function isReclaim(value: string): boolean {
  const percentage = percentageOf(value);
  if (percentage !== undefined) return percentage > 0;
  return (parseQuantity(value)?.nanos ?? -1n) >= 0n;
}

function percentageOf(value: string): number | undefined {
  return /^[0-9]+(\.[0-9]*)?%$/.test(value) ? Number(value.slice(0, -1)) : undefined;
}
