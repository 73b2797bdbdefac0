import type { Family } from './family.ts';

interface Results {
  isOk: boolean;
  success: number;
  error: number;
}

/** Results of the checks of `/healthz`. kubelet: component-base/metrics/prometheus/slis */
export class HealthSLIs {
  private readonly checks = new Map<string, Results>();

  /** Counts one result of a check. */
  record(name: string, isOk: boolean): void {
    const { success, error } = this.checks.get(name) ?? { success: 0, error: 0 };
    this.checks.set(name, { isOk, success: success + (isOk ? 1 : 0), error: error + (isOk ? 0 : 1) });
  }

  /** Deletes all results. */
  reset(): void {
    this.checks.clear();
  }

  families(): Family[] {
    const all = [...this.checks];
    const labels = (name: string): { name: string; type: string } => ({ name, type: 'healthz' });
    return [
      {
        name: 'kubernetes_healthcheck',
        type: 'gauge',
        help: '[STABLE] This metric records the result of a single healthcheck.',
        samples: all.map(([name, { isOk }]) => ({ labels: labels(name), value: isOk ? 1 : 0 })),
      },
      {
        name: 'kubernetes_healthchecks_total',
        type: 'counter',
        help: '[STABLE] This metric records the results of all healthcheck.',
        samples: all.flatMap(([name, results]) =>
          (['success', 'error'] as const)
            .filter((status) => results[status] > 0)
            .map((status) => ({ labels: { ...labels(name), status }, value: results[status] })),
        ),
      },
    ];
  }
}
