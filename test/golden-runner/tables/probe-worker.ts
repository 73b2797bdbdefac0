import type { Probe } from 'kubernetes-types/core/v1.js';
import {
  afterProbe,
  initialProbeState,
  nextProbeStep,
  type ProbedContainer,
} from '../../../src/engine/prober/next-probe-step.ts';
import type { ProbeResult, ProbeType } from '../../../src/engine/container/probe-results.ts';
import { maxProbeAttempts } from '../../../src/engine/prober/prober.ts';
import { tableAdapter } from '../table-adapter.ts';

interface Step {
  phase: string;
  container?: ProbedContainer;
  noStatus?: boolean;
  deleting?: boolean;
  outcome: 'success' | 'warning' | 'failure' | 'unknown' | 'error';
}
interface In {
  probeType: ProbeType;
  probe: Probe;
  restartPolicy: string;
  steps: Step[];
}

export const probeWorker = tableAdapter<In>('probe-worker', ({ probeType: type, probe, restartPolicy, steps }) => {
  let state = initialProbeState;
  let deleting = false;
  const results = new Map<string, ProbeResult>();
  const out: object[] = [];
  for (const step of steps) {
    deleting ||= step.deleting ?? false;
    const view = { phase: step.noStatus === true ? undefined : step.phase, container: step.container, deleting };
    const before = nextProbeStep({ type, probe, mayRestart: restartPolicy !== 'Never' }, state, view);
    state = before.state;
    if (before.drop !== undefined) results.delete(before.drop);
    if (before.publish !== undefined) results.set(state.containerID, before.publish);
    if (before.next === 'probe') {
      const after = afterProbe({ type, probe }, state, outcomes[step.outcome]);
      state = after.state;
      if (after.publish !== undefined) results.set(state.containerID, after.publish);
    }
    const attempts = step.outcome === 'error' ? maxProbeAttempts : 1;
    out.push({
      probeCalls: before.next === 'probe' ? attempts : 0,
      results: Object.fromEntries(results),
      onHold: state.onHold,
      keepGoing: before.next !== 'end',
    });
    if (before.next === 'end') break;
  }
  return { steps: out };
});

const outcomes = {
  success: 'success',
  warning: 'success',
  failure: 'failure',
  unknown: 'failure',
  error: 'error',
} as const;
