import type { Clock } from '../../../clock.ts';
import { unlessAborted } from '../../../flow/unless-aborted.ts';
import type { Logger } from '../../../logger.ts';
import type { Reconciled, Reconciliation } from './cpu-manager.ts';

/** The shortest period: the kubelet takes any, and reconciles without a pause if it is negative. */
const minPeriodMs = 1000;
/** Time from news to the reconciliation, because pods often come and go together. */
const settleMs = 200;

interface Deps {
  reconcile: () => Promise<Reconciliation>;
  /** `cpuManagerReconcilePeriod` */
  periodMs: number;
  clock: Clock;
  logger: Logger;
}

/**
 * Has containers moved to the CPUs they should have: every period, as in the kubelet, and soon after news. So a
 * container that has CPUs for itself does not share them for a whole period. kubelet: cpumanager/cpu_manager.go Start
 */
export class CPUReconciler {
  private isNews = false;
  private wake: () => void = () => undefined;
  /** The last logged failure by container id, until the container was moved. */
  private readonly failures = new Map<string, string>();

  constructor(private readonly deps: Deps) {}

  /** A pod came or went, or a container started. */
  soon(): void {
    this.isNews = true;
    this.wake();
  }

  /** Reconciles until the signal is aborted; rejects with its reason. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.isNews = false;
      this.report(await this.deps.reconcile());
      await this.untilDue(signal);
    }
  }

  private async untilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const periodMs = Math.max(this.deps.periodMs, minPeriodMs);
    const woken = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    if (this.isNews) this.wake();
    const period = new AbortController();
    // Aborted below, once something else came first.
    const passed = clock.sleep(periodMs, { signal: period.signal }).catch(() => undefined);
    try {
      await unlessAborted(Promise.race([passed, woken]), signal);
      if (this.isNews) await clock.sleep(settleMs, { signal });
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
    this.forgetOthers(failure);
  }

  private forgetOthers(failure: readonly Reconciled[]): void {
    const failed = new Set(failure.map(({ containerID }) => containerID));
    for (const id of this.failures.keys()) if (!failed.has(id)) this.failures.delete(id);
  }
}
