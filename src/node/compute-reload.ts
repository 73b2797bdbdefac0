import { isDeepStrictEqual } from 'node:util';
import type { KubeletConfiguration } from '../api/kubelet-configuration/types.ts';

/** The effects of a new configuration on a running agent. */
export interface ReloadPlan {
  /** Undefined if the level of the log stays. */
  verbosity: number | undefined;
  /** True if the headers for manifest URLs changed. */
  hasOtherHeaders: boolean;
  /** Changed fields that only a start reads. */
  needStart: (keyof KubeletConfiguration)[];
}

/** Compares two configurations. The kubelet reads its configuration only at its start. */
export function computeReload(current: KubeletConfiguration, next: KubeletConfiguration): ReloadPlan {
  const changed = (Object.keys(next) as (keyof KubeletConfiguration)[]).filter(
    (field) => !isDeepStrictEqual(current[field], next[field]),
  );
  const { verbosity: before, ...logging } = current.logging;
  const { verbosity, ...nextLogging } = next.logging;
  const isVerbosityAlone = isDeepStrictEqual(logging, nextLogging);
  return {
    verbosity: verbosity === before ? undefined : verbosity,
    hasOtherHeaders: changed.includes('staticPodURLHeader'),
    needStart: changed.filter((field) => field !== 'staticPodURLHeader' && !(field === 'logging' && isVerbosityAlone)),
  };
}
