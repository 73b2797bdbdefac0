import { ContainerStartError } from '../container/container-start-error.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { StartFailure } from './convert-container-statuses.ts';

/** Failures of the last container starts, by pod. kubelet: reason_cache.go */
export class ReasonCache {
  private readonly byPod = new Map<string, Map<string, StartFailure>>();

  update(podUID: string, results: readonly SyncResult[]): void {
    const failures = this.byPod.get(podUID) ?? new Map<string, StartFailure>();
    for (const { action, target, error, reason = '', message = '' } of results) {
      if (action !== 'startContainer') continue;
      if (error === undefined) failures.delete(target);
      else failures.set(target, { reason, message, ...retryOf(error) });
    }
    this.byPod.set(podUID, failures);
  }

  of(podUID: string): ReadonlyMap<string, StartFailure> {
    return this.byPod.get(podUID) ?? new Map<string, StartFailure>();
  }

  /** Drops all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.byPod.keys()) if (!podUIDs.has(uid)) this.byPod.delete(uid);
  }
}

function retryOf(error: unknown): Pick<StartFailure, 'retryAtMonotonic'> {
  const { retryAtMonotonic } = error instanceof ContainerStartError ? error : {};
  return retryAtMonotonic === undefined ? {} : { retryAtMonotonic };
}
