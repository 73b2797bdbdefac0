import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { AsyncQueue } from '../flow/async-queue.ts';
import type { PodUpdate } from './config/pod-config.ts';
import type { RuntimePodStatus } from './container/runtime-pod-status.ts';
import type { PodLifecycleEvent } from './container/pod-lifecycle-event.ts';
import type { ProbeChange } from './prober/prober-manager.ts';

/**
 * Everything the sync loop reacts to. Who puts it in → who it goes to:
 *
 *   config        sources, through PodConfig      → additions, updates, removes, reconcile
 *   configObjects sources                         → syncs of the pods that use these ConfigMaps and Secrets
 *   pleg          PLEG                            → pod syncs, clean-up of dead containers
 *   probe         probe workers                   → status, pod syncs
 *   sync          work queue                      → pod syncs
 *   admission     pod workers, when a pod ended   → pods that were not admitted are asked again
 *   housekeeping  timer, every 2 s                → clean-ups
 *   barrier       readers of the snapshot         → them, once everything before it was handled
 */
export type SyncLoopInput =
  | { type: 'config'; update: PodUpdate }
  | { type: 'configObjects'; keys: readonly string[] }
  | { type: 'pleg'; events: PodLifecycleEvent[]; status: RuntimePodStatus }
  | { type: 'probe'; change: ProbeChange }
  | { type: 'sync'; podUID: string }
  | { type: 'admission' }
  | { type: 'housekeeping' }
  | { type: 'barrier'; reached: () => void };

/** kubelet: kubelet.go SyncHandler */
export interface SyncHandler {
  handleConfig(update: PodUpdate): void;
  /** ConfigMaps and Secrets of these keys changed, came or went. */
  handleConfigObjects(keys: readonly string[]): void;
  handlePlegEvents(events: PodLifecycleEvent[], status: RuntimePodStatus): void;
  handleProbeChange(change: ProbeChange): void;
  handlePodSync(podUID: string): void;
  /** A pod ended: there may be room for others. */
  handleAdmission(): void;
  handlePodCleanups(): void;
}

interface Deps {
  inputs: AsyncQueue<SyncLoopInput>;
  handler: SyncHandler;
  clock: Clock;
  logger: Logger;
  /** Undefined while the runtime is healthy. */
  runtimeError: () => string | undefined;
  /** Calls back each time that the runtime may be healthy again; returns how to end that. */
  onRuntimeReady: (callback: () => void) => () => void;
}

/** kubelet: kubelet.go syncLoop */
const minWaitMs = 100;
const maxWaitMs = 5000;

/**
 * The one loop: takes the inputs in the order in which they came, one at a time, and nothing while the runtime is not
 * healthy. Ends when the signal is aborted. kubelet: kubelet.go syncLoop, syncLoopIteration
 */
export async function runSyncLoop(
  { inputs, handler, clock, logger, runtimeError, onRuntimeReady }: Deps,
  signal: AbortSignal,
): Promise<void> {
  /** The kubelet sleeps to the end, up to 5 s after the runtime is back. */
  const sleepUnlessReady = async (ms: number): Promise<void> => {
    const ready = new AbortController();
    const unsubscribe = onRuntimeReady(() => {
      ready.abort();
    });
    try {
      await clock.sleep(ms, { signal: AbortSignal.any([signal, ready.signal]) });
    } catch {
      signal.throwIfAborted();
    } finally {
      unsubscribe();
    }
  };
  let waitMs = minWaitMs;
  while (!signal.aborted) {
    const input = await inputs.pull(signal);
    for (let error = runtimeError(); error !== undefined; error = runtimeError()) {
      logger.debug({ err: error }, 'Skipping pod synchronization');
      await sleepUnlessReady(waitMs);
      waitMs = Math.min(waitMs * 2, maxWaitMs);
    }
    waitMs = minWaitMs;
    try {
      dispatch(input, handler);
    } catch (error) {
      logger.error({ err: error, input: input.type }, 'Handling an input of the sync loop failed');
    }
  }
}

function dispatch(input: SyncLoopInput, handler: SyncHandler): void {
  switch (input.type) {
    case 'config':
      handler.handleConfig(input.update);
      return;
    case 'configObjects':
      handler.handleConfigObjects(input.keys);
      return;
    case 'pleg':
      handler.handlePlegEvents(input.events, input.status);
      return;
    case 'probe':
      handler.handleProbeChange(input.change);
      return;
    case 'sync':
      handler.handlePodSync(input.podUID);
      return;
    case 'admission':
      handler.handleAdmission();
      return;
    case 'housekeeping':
      handler.handlePodCleanups();
      return;
    case 'barrier':
      input.reached();
      return;
    default:
      input satisfies never;
  }
}
