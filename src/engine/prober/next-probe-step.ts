import type { Probe } from 'kubernetes-types/core/v1.js';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import type { ProbeResult, ProbeType } from '../container/probe-results.ts';

/** A probe worker's view of its pod and container. */
export interface ProbeView {
  /** Undefined if the pod has no status yet. */
  phase: string | undefined;
  /** Undefined if the container has no status yet. */
  container: ProbedContainer | undefined;
  /** True if the pod is being deleted. */
  deleting: boolean;
}

export interface ProbedContainer {
  /** Without the runtime prefix. Empty if there is none yet. */
  id: string;
  state: 'waiting' | 'running' | 'terminated';
  /** Whole seconds since its start. */
  runningSeconds: number;
  started: boolean | undefined;
}

/** State of a probe worker between two steps. */
export interface ProbeState {
  /** The probed container. Empty if there is none yet. */
  readonly containerID: string;
  /** Result of the last run. `runs` counts equal results in a row. */
  readonly last: 'success' | 'failure' | undefined;
  readonly runs: number;
  /** True if this container needs no more probes. */
  readonly onHold: boolean;
}

export const initialProbeState: ProbeState = { containerID: '', last: undefined, runs: 0, onHold: false };

export interface ProbeStep {
  state: ProbeState;
  /** Container id whose result must be dropped. */
  drop?: string;
  /** New result of `state.containerID`. */
  publish?: ProbeResult;
  next: 'probe' | 'wait' | 'end';
}

/** Results before the first probe of a container. kubelet: prober/worker.go newWorker */
const initialResults: Record<ProbeType, ProbeResult> = {
  startup: 'unknown',
  readiness: 'failure',
  liveness: 'success',
};

/** The next step of a worker on a tick, before its probe. kubelet: prober/worker.go doProbe */
export function nextProbeStep(
  { type, probe, mayRestart }: { type: ProbeType; probe: Probe; mayRestart: boolean },
  before: ProbeState,
  { phase, container, deleting }: ProbeView,
): ProbeStep {
  if (phase === undefined) return { state: before, next: 'wait' };
  if (isPodPhaseTerminal(phase)) return { state: before, next: 'end' };
  if (container === undefined || container.id === '') return { state: before, next: 'wait' };

  const isNew = container.id !== before.containerID;
  const state = isNew ? { ...before, containerID: container.id, onHold: false } : before;
  const known: Omit<ProbeStep, 'next'> = isNew
    ? { state, publish: initialResults[type], ...(before.containerID !== '' && { drop: before.containerID }) }
    : { state };
  if (state.onHold) return { ...known, next: 'wait' };
  if (container.state !== 'running') {
    const isOver = container.state === 'terminated' && !mayRestart;
    return { ...known, publish: 'failure', next: isOver ? 'end' : 'wait' };
  }
  if (deleting && type !== 'readiness') return { ...known, publish: 'success', next: 'end' };
  if (container.runningSeconds < (probe.initialDelaySeconds ?? 0)) return { ...known, next: 'wait' };
  // Until a container has started, only its startup probe runs; afterwards only the other probes.
  return { ...known, next: (container.started === true) === (type !== 'startup') ? 'probe' : 'wait' };
}

/** The state after a probe. A probe that could not run changes nothing. kubelet: prober/worker.go doProbe */
export function afterProbe(
  { type, probe }: { type: ProbeType; probe: Probe },
  before: ProbeState,
  outcome: 'success' | 'failure' | 'error',
): Pick<ProbeStep, 'state' | 'publish'> {
  if (outcome === 'error') return { state: before };
  const runs = outcome === before.last ? before.runs + 1 : 1;
  const state = { ...before, last: outcome, runs };
  const threshold = outcome === 'failure' ? (probe.failureThreshold ?? 3) : (probe.successThreshold ?? 1);
  if (runs < threshold) return { state };
  const isDecided = type === 'startup' || (type === 'liveness' && outcome === 'failure');
  return { state: isDecided ? { ...state, runs: 0, onHold: true } : state, publish: outcome };
}
