import type { Clock } from '../../../clock.ts';
import { unlessAborted } from '../../../flow/unless-aborted.ts';
import type { Logger } from '../../../logger.ts';
import type { Reconciled, Reconciliation } from './cpu-manager.ts';

/** Minimum period. The kubelet accepts any period, and reconciles without a pause if it is negative. */
const minPeriodMs = 1000;
/** Delay between a change and the reconciliation, because pods often start and stop together. */
const settleMs = 200;

interface Deps {
  reconcile: () => Promise<Reconciliation>;
  /** `cpuManagerReconcilePeriod` */
  periodMs: number;
  clock: Clock;
  logger: Logger;
}

/**
 * Moves containers to their CPUs every period, as the kubelet does, and soon after a change. Otherwise other containers
 * could use exclusive CPUs for a whole period. kubelet: cpumanager/cpu_manager.go Start
 */
export class CPUReconciler {
  private isDue = false;
  private wake: () => void = () => undefined;
  /** The last logged failure by container id, until the container is moved. */
  private readonly failures = new Map<string, string>();

  constructor(private readonly deps: Deps) {}

  /** Schedules a reconciliation after a pod was added or removed, or a container started. */
  scheduleSoon(): void {
    this.isDue = true;
    this.wake();
  }

  /** Reconciles until the signal is aborted. Rejects with the signal's reason. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.isDue = false;
      this.report(await this.deps.reconcile());
      await this.waitUntilDue(signal);
    }
  }

  private async waitUntilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const periodMs = Math.max(this.deps.periodMs, minPeriodMs);
    const woken = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    if (this.isDue) this.wake();
    const period = new AbortController();
    // Aborted in `finally` if a change comes first.
    const passed = clock.sleep(periodMs, { signal: period.signal }).catch(() => undefined);
    try {
      await unlessAborted(Promise.race([passed, woken]), signal);
      if (this.isDue) await clock.sleep(settleMs, { signal });
    } finally {
      period.abort();
    }
  }

  private report({ failure }: Reconciliation): void {
    for (const { podName, containerName, containerID, err } of failure) {
      if (err === undefined || this.failures.get(containerID) === err) continue;
      this.failures.set(containerID, err);
      this.deps.logger.warn({ pod: podName, containerName, containerID, err }, 'Moving a container to its CPUs failed');
    }
    this.dropRecovered(failure);
  }

  private dropRecovered(failure: readonly Reconciled[]): void {
    const failed = new Set(failure.map(({ containerID }) => containerID));
    for (const id of this.failures.keys()) if (!failed.has(id)) this.failures.delete(id);
  }
}
