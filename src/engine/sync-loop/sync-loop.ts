import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { abortWith } from '../../flow/abort-with.ts';
import type { AsyncQueue } from '../../flow/async-queue.ts';
import type { PodUpdate } from '../config/pod-config.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodLifecycleEvent } from '../container/pod-lifecycle-event.ts';
import type { ProbeChange } from '../prober/prober-manager.ts';
import type { SyncLoopMonitor } from './sync-loop-monitor.ts';

/**
 * Inputs of the sync loop: type, sender, and effect.
 *
 *   config        sources, through PodConfig      → additions, updates, removes, reconcile
 *   configObjects sources                         → syncs of the pods that use these ConfigMaps and Secrets
 *   pleg          PLEG                            → pod syncs, clean-up of dead containers
 *   probe         probe workers                   → status, pod syncs
 *   sync          work queue, and components      → pod syncs
 *   admission     PodStarter, at changes          → another try to admit waiting pods
 *   operation     operators, by the control socket → a pod is stopped or started
 *   workloads     Workloads, at changes of their pods → which pods each workload declares
 *   housekeeping  2 s after an event, or 10 s later → clean-ups
 *   barrier       readers of the snapshot         → a call back after all earlier inputs
 */
export type SyncLoopInput =
  | { type: 'config'; update: PodUpdate }
  | { type: 'configObjects'; keys: readonly string[] }
  | { type: 'pleg'; events: PodLifecycleEvent[]; status: RuntimePodStatus }
  | { type: 'probe'; change: ProbeChange }
  | { type: 'sync'; podUID: string }
  | { type: 'admission' }
  | { type: 'operation'; operation: 'stop' | 'start'; podUID: string }
  | { type: 'workloads' }
  | { type: 'housekeeping' }
  | { type: 'barrier'; reached: () => void };

/** kubelet: kubelet.go SyncHandler */
export interface SyncHandler {
  handleConfig(update: PodUpdate): void;
  /** Called when ConfigMaps or Secrets with these keys were added, changed or removed. */
  handleConfigObjects(keys: readonly string[]): void;
  handlePlegEvents(events: PodLifecycleEvent[], status: RuntimePodStatus): void;
  handleProbeChange(change: ProbeChange): void;
  handlePodSync(podUID: string): void;
  /** Called when waiting pods may be admitted, because room, order, the node or devices changed. */
  handleAdmission(): void;
  /** Called when an operator stopped or started a pod. */
  handleOperation(operation: 'stop' | 'start', podUID: string): void;
  /** Called when a pod of a workload changed, or a time of a workload has come. */
  handleWorkloads(): void;
  handlePodCleanups(): void;
}

interface Deps {
  inputs: AsyncQueue<SyncLoopInput>;
  handler: SyncHandler;
  clock: Clock;
  logger: Logger;
  monitor: Pick<SyncLoopMonitor, 'entered'>;
  /** Undefined if the runtime is healthy. */
  runtimeError: () => string | undefined;
  /** True once all pods of the runtime are listed. */
  hasListed: () => boolean;
  /** Calls back each time the runtime may be healthy again. Returns a function that unsubscribes. */
  onRuntimeReady: (callback: () => void) => () => void;
}

/** kubelet: kubelet.go syncLoop */
const minWaitMs = 100;
const maxWaitMs = 5000;

/**
 * Handles the inputs one at a time, in order. While the runtime is unhealthy, inputs that need it wait. Before its
 * first listing all inputs wait, because running pods would look stopped. The kubelet pauses the whole loop. Returns
 * when the signal is aborted. kubelet: kubelet.go syncLoop, syncLoopIteration
 */
export async function runSyncLoop(
  { inputs, handler, clock, logger, monitor, runtimeError, hasListed, onRuntimeReady }: Deps,
  signal: AbortSignal,
): Promise<void> {
  /** Inputs that wait for the runtime. */
  const waiting: SyncLoopInput[] = [];
  let waitMs = minWaitMs;
  const handle = (input: SyncLoopInput): void => {
    try {
      dispatch(input, handler);
    } catch (error) {
      logger.error({ err: error, input: input.type }, 'Handling an input of the sync loop failed');
    }
  };
  /**
   * Resolves with the next input, or with undefined if the runtime may be ready. The kubelet sleeps up to 5 s longer.
   */
  const pullUntilReady = async (): Promise<SyncLoopInput | undefined> => {
    const ready = new AbortController();
    const wake = (): void => {
      ready.abort();
    };
    const cancels = [onRuntimeReady(wake), clock.after(waitMs, wake), abortWith(ready, signal)];
    try {
      return await inputs.pull(ready.signal);
    } catch {
      signal.throwIfAborted();
      waitMs = Math.min(waitMs * 2, maxWaitMs);
      return undefined;
    } finally {
      for (const cancel of cancels) cancel();
    }
  };
  while (!signal.aborted) {
    const due = runtimeError() === undefined ? waiting.shift() : undefined;
    if (due !== undefined) {
      waitMs = minWaitMs;
      monitor.entered();
      handle(due);
      continue;
    }
    const input = waiting.length === 0 ? await inputs.pull(signal) : await pullUntilReady();
    if (input === undefined) continue;
    const error = runtimeError();
    if (error !== undefined && hasListed() && !needsRuntime(input)) handle(input);
    else waiting.push(input);
    if (error !== undefined) logger.debug({ err: error }, 'Skipping pod synchronization');
  }
}

/** False for inputs whose handlers only record the desired state; pod workers apply it once the runtime answers. */
function needsRuntime({ type }: SyncLoopInput): boolean {
  return (
    type !== 'config' && type !== 'configObjects' && type !== 'operation' && type !== 'workloads' && type !== 'barrier'
  );
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
    case 'operation':
      handler.handleOperation(input.operation, input.podUID);
      return;
    case 'workloads':
      handler.handleWorkloads();
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
