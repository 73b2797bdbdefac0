import type { Pod } from '../../../src/api/types.ts';
import type { ContainerKillReason } from '../../../src/engine/kuberuntime/actions/pod-actions.ts';
import {
  containerGracePeriodSeconds,
  remainingGracePeriodSeconds,
} from '../../../src/engine/kuberuntime/actions/termination-grace-period.ts';
import { effectiveGracePeriod } from '../../../src/engine/pod-workers/pod-worker.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = { pod: Pod; override: number | null } & (
  { kind: 'pod'; currentSeconds: number } | { kind: 'container'; container: string; reason: ContainerKillReason }
);

export const gracePeriods = tableAdapter<In>('grace-periods', (input) => {
  const override = input.override ?? undefined;
  if (input.kind === 'pod') {
    const { gracePeriodSeconds, shortened } = effectiveGracePeriod(input.currentSeconds, input.pod, override);
    return { gracePeriodSeconds, changed: shortened };
  }
  const container = input.pod.spec.containers.find(({ name }) => name === input.container);
  const seconds = containerGracePeriodSeconds(input.pod, container, input.reason, override);
  return { gracePeriodSeconds: remainingGracePeriodSeconds(seconds, 0) };
});
