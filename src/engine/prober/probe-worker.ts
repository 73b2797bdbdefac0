import type { Probe } from 'kubernetes-types/core/v1.js';
import type { Clock } from '../../clock.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { afterProbe, initialProbeState, nextProbeStep, type ProbeState, type ProbeView } from './next-probe-step.ts';
import type { ProbeResult, ProbeType } from '../container/probe-results.ts';

interface Deps {
  type: ProbeType;
  probe: Probe;
  /** False if the container never starts again after its end. */
  mayRestart: boolean;
  /** State of an earlier worker to continue from. */
  resumed?: ProbeState;
  /** The worker's current view of its container. */
  view: () => ProbeView;
  /** Runs the probe once in this container. */
  probeContainer: (containerID: string, signal: AbortSignal) => Promise<'success' | 'failure' | 'error'>;
  /** `result` is undefined if the container's result must be removed. */
  publish: (containerID: string, result: ProbeResult | undefined) => void;
  /** Milliseconds until the first tick. */
  delayMs: number;
  clock: Clock;
}

/** Runs one probe of one container periodically, across all its restarts. kubelet: prober/worker.go */
export class ProbeWorker {
  private readonly wakeUps = new AsyncQueue<'tick' | 'trigger'>();
  private readonly stopping = new AbortController();
  private state: ProbeState;

  constructor(private readonly deps: Deps) {
    this.state = deps.resumed ?? initialProbeState;
  }

  /** Probes now instead of at the next tick, and restarts the period. */
  trigger(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('trigger');
  }

  /** Stops the worker and removes its published result. */
  stop(): void {
    this.stopping.abort(new Error('the probe worker was stopped'));
  }

  /** Resolves when nothing is left to probe, or after `stop`. */
  async run(): Promise<void> {
    const { clock, probe, delayMs } = this.deps;
    const { signal } = this.stopping;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    try {
      if (delayMs > 0) await clock.sleep(delayMs, { signal });
      let nextTickAtMonotonic = clock.monotonic() + periodMs;
      while (await this.tick(signal)) {
        signal.throwIfAborted();
        const isLate = nextTickAtMonotonic <= clock.monotonic();
        // Skips the ticks during a long probe except one. Go: time.Ticker
        while (nextTickAtMonotonic <= clock.monotonic()) nextTickAtMonotonic += periodMs;
        if (isLate && this.wakeUps.length === 0) continue;
        // A container that started just after its worker does not have to wait one more period.
        nextTickAtMonotonic = Math.min(nextTickAtMonotonic, clock.monotonic() + this.initialDelayLeftMs());
        if ((await this.wait(nextTickAtMonotonic - clock.monotonic(), signal)) === 'trigger')
          nextTickAtMonotonic = clock.monotonic();
        nextTickAtMonotonic += periodMs;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (this.state.containerID !== '') this.deps.publish(this.state.containerID, undefined);
    }
  }

  /** Returns Infinity if the delay is over or the container is not running. */
  private initialDelayLeftMs(): number {
    const { probe, view } = this.deps;
    const { container } = view();
    if (container?.state !== 'running') return Infinity;
    const leftSeconds = (probe.initialDelaySeconds ?? 0) - container.runningSeconds;
    return leftSeconds > 0 ? leftSeconds * 1000 : Infinity;
  }

  private async wait(ms: number, signal: AbortSignal): Promise<'tick' | 'trigger'> {
    const cancel = this.deps.clock.after(ms, () => {
      this.wakeUps.push('tick');
    });
    try {
      return await this.wakeUps.pull(signal);
    } finally {
      cancel();
    }
  }

  /** Resolves with false if the worker must stop. */
  private async tick(signal: AbortSignal): Promise<boolean> {
    const { publish, probeContainer, view } = this.deps;
    const step = nextProbeStep(this.deps, this.state, view());
    this.state = step.state;
    if (step.drop !== undefined) publish(step.drop, undefined);
    if (step.publish !== undefined) publish(step.state.containerID, step.publish);
    if (step.next !== 'probe') return step.next === 'wait';
    const outcome = await probeContainer(step.state.containerID, signal);
    // Some probes cannot be aborted, and their results say nothing about the health of a stopping container.
    signal.throwIfAborted();
    const after = afterProbe(this.deps, step.state, outcome);
    this.state = after.state;
    if (after.publish !== undefined) publish(after.state.containerID, after.publish);
    return true;
  }
}
