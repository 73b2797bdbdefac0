import type { Probe } from 'kubernetes-types/core/v1.js';
import { errorMessage } from '../../errors.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { ProbeType } from '../container/probe-results.ts';
import { type ProbeDeps, type ProbeOutcome, type ProbeTarget, runProbe } from './run-probe.ts';

/** Attempts per tick if a probe cannot run. kubelet: prober/prober.go maxProbeRetries */
export const maxProbeAttempts = 3;

/** Names of the probes in events and metrics. */
export const probeTitles: Record<ProbeType, string> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

/** Runs a probe and records a failure. Resolves with `error` if it could not run. kubelet: prober/prober.go probe */
export async function probeContainer(
  deps: ProbeDeps,
  type: ProbeType,
  probe: Probe,
  target: ProbeTarget,
  recorder: PodEventRecorder,
): Promise<'success' | 'failure' | 'error'> {
  const { name } = target.container;
  try {
    const { result, output } = await attempt(deps, probe, target);
    if (result === 'success') return 'success';
    if (result === 'warning') {
      recorder.warning(reasons.probeWarning, `${probeTitles[type]} probe warning: ${output}`, name);
      return 'success';
    }
    recorder.warning(reasons.unhealthy, `${probeTitles[type]} probe failed: ${output}`, name);
    return 'failure';
  } catch (error) {
    target.signal.throwIfAborted();
    const message = `${probeTitles[type]} probe errored and resulted in unknown state: ${errorMessage(error)}`;
    recorder.warning(reasons.unhealthy, message, name);
    return 'error';
  }
}

async function attempt(deps: ProbeDeps, probe: Probe, target: ProbeTarget): Promise<ProbeOutcome> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await runProbe(deps, probe, target);
    } catch (error) {
      if (attempts >= maxProbeAttempts || target.signal.aborted) throw error;
    }
  }
}
