import type * as core from 'kubernetes-types/core/v1.js';

/** The volumes of a pod. */
export interface PodVolumes {
  /** Those that a container may mount, by name. */
  valid: ReadonlyMap<string, core.Volume>;
  /** Names of volumes that are declared with errors. */
  broken: ReadonlySet<string>;
}
