import type { Probe } from 'kubernetes-types/core/v1.js';
import type { Clock } from '../../clock.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { afterProbe, initialProbeState, nextProbeStep, type ProbeState, type ProbeView } from './next-probe-step.ts';
import type { ProbeResult, ProbeType } from '../container/probe-results.ts';

interface Deps {
  type: ProbeType;
  probe: Probe;
  restartPolicy: string | undefined;
  /** Where an earlier worker left off. */
  resumed?: ProbeState;
  /** What the worker sees of its container now. */
  view: () => ProbeView;
  /** Runs the probe once in this container. */
  probeContainer: (containerID: string, signal: AbortSignal) => Promise<'success' | 'failure' | 'error'>;
  /** Undefined: what was known of this container is forgotten. */
  publish: (containerID: string, result: ProbeResult | undefined) => void;
  /** Milliseconds until the first tick. */
  delayMs: number;
  clock: Clock;
}

/** One probe of one container, tick after tick, over all restarts of the container. kubelet: prober/worker.go */
export class ProbeWorker {
  private readonly deps: Deps;
  private readonly wakeUps = new AsyncQueue<'tick' | 'trigger'>();
  private readonly stopping = new AbortController();
  private state: ProbeState;

  constructor(deps: Deps) {
    this.deps = deps;
    this.state = deps.resumed ?? initialProbeState;
  }

  /** Probes now instead of at the next tick; ticks count from here. */
  trigger(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('trigger');
  }

  /** What was published is forgotten. */
  stop(): void {
    this.stopping.abort(new Error('the probe worker was stopped'));
  }

  /** Resolves when there is nothing left to probe, or it was stopped. */
  async run(): Promise<void> {
    const { clock, probe, delayMs } = this.deps;
    const { signal } = this.stopping;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    try {
      if (delayMs > 0) await clock.sleep(delayMs, { signal });
      let nextTick = clock.monotonic() + periodMs;
      while (await this.tick(signal)) {
        signal.throwIfAborted();
        const isLate = nextTick <= clock.monotonic();
        // Of the ticks that a probe took longer than, one is kept. Go: time.Ticker
        while (nextTick <= clock.monotonic()) nextTick += periodMs;
        if (isLate && this.wakeUps.length === 0) continue;
        // A container that started a moment after its worker does not wait one period more for it.
        nextTick = Math.min(nextTick, clock.monotonic() + this.initialDelayLeftMs());
        if ((await this.wait(nextTick - clock.monotonic(), signal)) === 'trigger') nextTick = clock.monotonic();
        nextTick += periodMs;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (this.state.containerID !== '') this.deps.publish(this.state.containerID, undefined);
    }
  }

  /** Infinity: it is over, or nothing runs. */
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

  /** False: the worker ends. */
  private async tick(signal: AbortSignal): Promise<boolean> {
    const { publish, probeContainer, view } = this.deps;
    const step = nextProbeStep(this.deps, this.state, view());
    this.state = step.state;
    if (step.forget !== undefined) publish(step.forget, undefined);
    if (step.publish !== undefined) publish(step.state.containerID, step.publish);
    if (step.next !== 'probe') return step.next === 'wait';
    const outcome = await probeContainer(step.state.containerID, signal);
    // Not every probe can be called off: what it finds in a container that is being stopped is not its health.
    signal.throwIfAborted();
    const after = afterProbe(this.deps, step.state, outcome);
    this.state = after.state;
    if (after.publish !== undefined) publish(after.state.containerID, after.publish);
    return true;
  }
}
