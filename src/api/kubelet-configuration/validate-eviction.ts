import {
  evictionSignals,
  isEvictionSignal,
  parseGracePeriodMs,
  parseMinimumReclaim,
  parseThresholdValue,
} from '../values/eviction-thresholds.ts';
import type { ConfigurationErrors } from './configuration-errors.ts';
import type { KubeletConfiguration } from './types.ts';

/** kubelet: eviction/helpers.go ParseThresholdConfig */
export function validateEviction(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  for (const name of ['evictionHard', 'evictionSoft'] as const) {
    for (const [signal, value] of Object.entries(kc[name])) {
      const field = `${name}[${signal}]`;
      if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
      else if (parseThresholdValue(value) === undefined)
        errors.add(field, `"${value}" must be a positive quantity or 0% to 100%`);
    }
  }
  for (const [signal, value] of Object.entries(kc.evictionSoft)) {
    if (kc.evictionSoftGracePeriod[signal] !== undefined || parseThresholdValue(value) === 'never') continue;
    errors.add(`evictionSoft[${signal}]`, 'has no grace period', `Add ${signal} to evictionSoftGracePeriod.`);
  }
  for (const [signal, value] of Object.entries(kc.evictionSoftGracePeriod)) {
    const field = `evictionSoftGracePeriod[${signal}]`;
    if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (parseGracePeriodMs(value) === undefined)
      errors.add(field, `"${value}" must be a duration such as "1m30s"`);
  }
  for (const [signal, value] of Object.entries(kc.evictionMinimumReclaim)) {
    const field = `evictionMinimumReclaim[${signal}]`;
    if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (parseMinimumReclaim(value) === undefined)
      errors.add(field, `"${value}" must be a quantity or a percentage`);
  }
}

const knownSignals = `Known are ${evictionSignals.join(', ')}.`;
