import type { Probe } from 'kubernetes-types/core/v1.js';
import type { ProbeResult, ProbeType } from '../container/probe-results.ts';

/** What a probe worker sees of its pod and container. */
export interface ProbeView {
  /** Undefined: the pod has no status yet. */
  phase: string | undefined;
  /** Undefined: the container has no status yet. */
  container: ProbedContainer | undefined;
  /** The pod is being deleted. */
  deleting: boolean;
}

export interface ProbedContainer {
  /** Without the runtime prefix; empty: there is none yet. */
  id: string;
  state: 'waiting' | 'running' | 'terminated';
  /** Whole seconds since it started. */
  runningSeconds: number;
  started: boolean | undefined;
}

/** What a probe worker remembers from one step to the next. */
export interface ProbeState {
  /** Container that it probes; empty: none yet. */
  readonly containerID: string;
  /** Outcome of the last run, and how often it came in a row. */
  readonly last: 'success' | 'failure' | undefined;
  readonly runs: number;
  /** Nothing more is to be found out about this container. */
  readonly onHold: boolean;
}

export const initialProbeState: ProbeState = { containerID: '', last: undefined, runs: 0, onHold: false };

export interface ProbeStep {
  state: ProbeState;
  /** Container id whose result is forgotten. */
  forget?: string;
  /** New result of `state.containerID`. */
  publish?: ProbeResult;
  next: 'probe' | 'wait' | 'end';
}

/** Before anything was found out about a container. kubelet: prober/worker.go newWorker */
const initialResults: Record<ProbeType, ProbeResult> = {
  startup: 'unknown',
  readiness: 'failure',
  liveness: 'success',
};

/** What a worker does at a tick, before it runs its probe. kubelet: prober/worker.go doProbe */
export function nextProbeStep(
  { type, probe, restartPolicy }: { type: ProbeType; probe: Probe; restartPolicy: string | undefined },
  before: ProbeState,
  { phase, container, deleting }: ProbeView,
): ProbeStep {
  if (phase === undefined) return { state: before, next: 'wait' };
  if (phase === 'Failed' || phase === 'Succeeded') return { state: before, next: 'end' };
  if (container === undefined || container.id === '') return { state: before, next: 'wait' };

  const isNew = container.id !== before.containerID;
  const state = isNew ? { ...before, containerID: container.id, onHold: false } : before;
  const known: Omit<ProbeStep, 'next'> = isNew
    ? { state, publish: initialResults[type], ...(before.containerID !== '' && { forget: before.containerID }) }
    : { state };
  if (state.onHold) return { ...known, next: 'wait' };
  if (container.state !== 'running') {
    const isOver = container.state === 'terminated' && restartPolicy === 'Never';
    return { ...known, publish: 'failure', next: isOver ? 'end' : 'wait' };
  }
  if (deleting && type !== 'readiness') return { ...known, publish: 'success', next: 'end' };
  if (container.runningSeconds < (probe.initialDelaySeconds ?? 0)) return { ...known, next: 'wait' };
  // Until a container has started only its startup probe runs, and never again after that.
  return { ...known, next: (container.started === true) === (type !== 'startup') ? 'probe' : 'wait' };
}

/** What the outcome of a run comes to. A run that could not be made says nothing. kubelet: prober/worker.go doProbe */
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
