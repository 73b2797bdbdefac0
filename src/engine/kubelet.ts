import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { defaultInPlacePolicy } from '../api/values/in-place.ts';
import type { Pod } from '../api/types.ts';
import type { PodName } from '../api/values/pod-names.ts';
import type { FaultSnapshot } from '../flow/faults.ts';
import { RequestRefused } from '../errors.ts';
import { withTimeout, TimeoutError } from '../flow/with-timeout.ts';
import { textLimits } from '../text/text-limits.ts';
import type { EngineHistory, HistoryEntry } from './history/history-entry.ts';
import type { KubeletDeps } from './build/kubelet-deps.ts';
import { type KubeletParts, newKubelet } from './build/new-kubelet.ts';
import type { EngineOperations, EphemeralRequest, OperationRequest, RevisionSummary } from './operations/operation.ts';
import type { MeasuredCgroup } from './stats/measured-cgroups.ts';
import type { DiskUsage, StatsProvider, SummaryRequest } from './stats/stats-provider.ts';
import type { Summary } from './stats/summary.ts';
import { removeAllPods, type UnremovedPod } from './remove-all-pods.ts';
import { runSyncLoop } from './sync-loop/sync-loop.ts';
import { SyncLoopMonitor } from './sync-loop/sync-loop-monitor.ts';
import { programVersion } from '../process/program-version.ts';
import { findPod, takeActivity, takeSnapshot } from './take-snapshot.ts';
import type { EngineWorkloads, WorkloadRequest } from './workloads/workload-operations.ts';
import { reasons } from './view/reasons.ts';
import type { KubeletEvent } from './view/events.ts';
import type {
  EngineActivity,
  EngineDeclarations,
  EngineSettling,
  EngineSnapshot,
  ReportedEngine,
} from './view/snapshot.ts';

/** How long stopping waits for syncs in flight. */
const stopTimeoutMs = 2000;
/** How long a request waits for a runtime that has not listed its pods yet. */
const settlePatienceMs = 5000;

/** A warning about the node, as an event. */
export interface NodeWarning {
  /** One of reasons.ts. */
  reason: string;
  message: string;
}

/**
 * The engine. Runs its components until it is stopped, and reports their state. Stopping it leaves every container
 * running. kubelet: kubelet.go Kubelet
 */
export class Kubelet
  implements
    ReportedEngine,
    EngineHistory,
    EngineDeclarations,
    EngineSettling,
    EngineOperations,
    EngineWorkloads,
    Pick<StatsProvider, 'summary' | 'cgroups' | 'diskUsage'>
{
  private readonly stopping = new AbortController();
  private readonly parts: KubeletParts;
  private readonly startedAt: number;
  private readonly monitor: SyncLoopMonitor;
  /** Warnings of the node from before it ran. Undefined once it runs. */
  private earlierWarnings: NodeWarning[] | undefined = [];

  constructor(private readonly deps: KubeletDeps) {
    this.startedAt = deps.clock.now();
    this.monitor = new SyncLoopMonitor({ clock: deps.clock, syncFrequencyMs: deps.node.syncFrequencyMs });
    // No limit, because every call in progress listens to it.
    setMaxListeners(0, this.stopping.signal);
    this.parts = newKubelet(deps, this.stopping.signal);
  }

  /** Runs until the signal is aborted. Then waits up to two seconds for the syncs in flight. */
  async run(signal: AbortSignal): Promise<void> {
    const { deps, parts } = this;
    const stop = (): void => {
      this.stopping.abort(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const stopped = this.stopping.signal;
    await parts.wallClockStore.load();
    const earlierWarnings = this.earlierWarnings ?? [];
    this.earlierWarnings = undefined;
    for (const warning of earlierWarnings) this.recordNodeWarning(warning);
    const running: Promise<void>[] = [];
    try {
      const load = <T>(what: string, work: () => Promise<T>): Promise<T> => deps.faults.untilDone(what, work, stopped);
      const earlier = await load('pod folders', () => parts.podDirs.podUIDs());
      // Loads these first, because the sources compare their manifests with them.
      await Promise.all([
        parts.appliedRevisions.load(earlier),
        parts.evictionRecords.load(earlier),
        parts.undeclaredRecords.load(earlier),
        parts.statusRecords.load(earlier),
        parts.services.load(),
        load('ephemeral containers', () => parts.ephemeral.load(earlier)),
        load('operations', () => parts.records.load()),
        load('workloads', () => parts.workloadRecords.load()),
        load('image pulls', async () => parts.pullRecords?.load()),
      ]);
      parts.handlers.adopt(earlier);
      running.push(...this.startParts(stopped));
      await Promise.all(running);
    } catch (error) {
      // A requested stop is not an error.
      if (!stopped.aborted) {
        this.stopping.abort(error);
        throw error;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      parts.housekeeping.stop();
      parts.workQueue.stop();
      parts.ephemeral.stop();
      parts.workloads.close();
      parts.podResourcesSocket?.close();
      await Promise.allSettled(running);
      await this.finishSyncs();
      await Promise.all([
        parts.histories.close(),
        parts.statusRecords.close(),
        parts.records.close(),
        parts.pullRecords?.close(),
        parts.undeclaredRecords.close(),
        parts.appliedRevisions.close(),
        parts.wallClockStore.close(),
        parts.podResources?.close(),
        parts.devices?.close(),
      ]);
    }
  }

  /** Records a warning event of the node. Before `run`, which has no listeners yet, it is kept until then. */
  recordNodeWarning(warning: NodeWarning): void {
    if (this.earlierWarnings !== undefined) this.earlierWarnings.push(warning);
    else this.parts.events.emit({ type: 'Recorded', eventType: 'Warning', ...warning });
  }

  snapshot({ brief = false } = {}): EngineSnapshot {
    const { node } = this.deps;
    const { because, ...chosen } = this.deps.endpoint;
    const { runtime, ...rest } = takeSnapshot(this.parts, { nodeIPs: node.nodeIPs(), brief });
    const statusURLs = this.deps.statusURLs?.() ?? [];
    return {
      version: programVersion,
      nodeName: node.nodeName,
      startedAt: this.startedAt,
      ...(!isDeepStrictEqual(node.inPlace, defaultInPlacePolicy) && { inPlace: node.inPlace }),
      runtime: { ...chosen, chosenBecause: because, ...runtime },
      faults: this.shownFaults(),
      ...(statusURLs.length > 0 && { statusURLs }),
      ...rest,
    };
  }

  activity(): EngineActivity {
    return { nodeName: this.deps.node.nodeName, ...takeActivity(this.parts) };
  }

  pod(uid: string): Pod | undefined {
    return findPod(this.parts, uid);
  }

  async settled({ waits = false } = {}): Promise<void> {
    const { config, inputs, runtimeState } = this.parts;
    await config.settled();
    const handled = new Promise<void>((reached) => {
      inputs.push({ type: 'barrier', reached });
    });
    for (;;) {
      try {
        await withTimeout(this.deps.clock, settlePatienceMs, handled);
        return;
      } catch (error) {
        if (!(error instanceof TimeoutError)) throw error;
        const runtimeError = runtimeState.error();
        if (!waits && runtimeError !== undefined) throw new RequestRefused('unready', runtimeError);
      }
    }
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    return this.parts.events.subscribe(listener);
  }

  history(pod: { namespace: string; name: string }): Promise<HistoryEntry[]> {
    return this.parts.histories.entries(pod);
  }

  withoutVariables(podUID: string, text: string): string {
    return this.parts.histories.cleared(podUID, text);
  }

  cgroups(request: { maxAgeMs: number }): Promise<readonly MeasuredCgroup[]> {
    return this.parts.stats.cgroups(request);
  }

  diskUsage(): Promise<DiskUsage> {
    return this.parts.stats.diskUsage();
  }

  declarerOf(key: string): string | undefined {
    return this.parts.config.declarerOf(key);
  }

  operate(request: OperationRequest, signal?: AbortSignal): Promise<string> {
    // Checks now, so that a hung runtime is noticed soon.
    this.parts.runtimeState.checkNow();
    return this.parts.operations.act(request, signal);
  }

  operateWorkload(request: WorkloadRequest): Promise<string> {
    return this.parts.workloadOperations.act(request);
  }

  pastRevisions(pod: PodName): RevisionSummary[] {
    return this.parts.revisions.history(pod);
  }

  addEphemeralContainer(pod: PodName, request: EphemeralRequest): Promise<string> {
    return this.parts.ephemeral.add(pod, request);
  }

  removeEphemeralContainer(pod: PodName, container: string): Promise<string> {
    return this.parts.ephemeral.remove(pod, container);
  }

  summary(request: SummaryRequest): Promise<Summary> {
    return this.parts.stats.summary(request);
  }

  /** Returns why the sync loop is blocked, or undefined if it is not. */
  unhealthyBecause(): string | undefined {
    const error = this.parts.runtimeState.error();
    return error === undefined ? undefined : this.parts.redactor.text(error);
  }

  /** Returns why device plugins cannot register. Returns undefined if they can, or if the node has no plugins. */
  devicePluginsUnhealthyBecause(): string | undefined {
    return this.parts.devices?.unhealthyBecause();
  }

  /**
   * Returns why the sync loop is stuck, or undefined if it is not. A runtime that is unavailable for minutes also makes
   * it stuck.
   */
  stuckBecause(): string | undefined {
    return this.monitor.stuckBecause();
  }

  /** Stops and removes every declared pod. Resolves with the pods that were not removed in time. */
  removeAllPods(): Promise<UnremovedPod[]> {
    return removeAllPods(this.parts, this.deps.clock);
  }

  /**
   * True if logind announces shutdowns and waits for the pods, and no shutdown is in progress. Then a stop of the agent
   * for any other reason is not a shutdown.
   */
  get isWatchingShutdowns(): boolean {
    return this.parts.shutdownWatch?.isHolding === true && !this.parts.nodeShutdown.isShuttingDown;
  }

  /**
   * Stops every pod within the time for a shutdown of the node. From then on no pod starts. After a reboot the pods run
   * again.
   */
  shutDownPods(): Promise<void> {
    return this.parts.nodeShutdown.begin();
  }

  /** Accepts pods again. Not needed if logind cancels the shutdown, because that goes directly to `NodeShutdown`. */
  cancelShutdown(): void {
    this.parts.nodeShutdown.cancel();
  }

  private shownFaults(): FaultSnapshot[] {
    const { text } = this.parts.redactor;
    return this.deps.faults.snapshot().map((fault) => ({ ...fault, message: text(fault.message, textLimits.event) }));
  }

  /** Runs each component independently, so that a failed one does not stop the others. */
  private startParts(stopped: AbortSignal): Promise<void>[] {
    const { parts, deps } = this;
    const keep = (part: string, run: { run(signal: AbortSignal): Promise<void> }): Promise<void> =>
      deps.faults.keepRunning(part, () => run.run(stopped), stopped);
    return [
      keep('runtime state', parts.runtimeState),
      keep('pleg', parts.pleg),
      keep('event watch', parts.eventWatch),
      keep('oom watcher', parts.oomWatcher),
      ...(parts.memoryEvents === undefined ? [] : [keep('memory events', parts.memoryEvents)]),
      keep('config', parts.config),
      keep('eviction', parts.evictionLoop),
      keep('memory watch', parts.memoryWatch),
      keep('disk watch', parts.diskWatch),
      keep('image collection', parts.imageCollector),
      keep('container collection', parts.containerCollector),
      keep('container logs', parts.containerLogManager),
      ...(deps.followNodeIPs === undefined
        ? []
        : [keep('node addresses', { run: (signal) => this.followNodeIPs(signal) })]),
      ...(deps.keepNetwork === undefined ? [] : [keep('pod network', { run: (signal) => this.keepNetwork(signal) })]),
      ...(parts.shutdownWatch === undefined ? [] : [keep('shutdown watch', parts.shutdownWatch)]),
      ...(parts.pluginManager === undefined ? [] : [keep('plugin manager', parts.pluginManager)]),
      this.work(stopped),
    ];
  }

  /** Records changes of the node's addresses. The names of Services lead to the new ones. */
  private async followNodeIPs(stopped: AbortSignal): Promise<void> {
    const { deps, parts } = this;
    await deps.followNodeIPs?.((before) => {
      const message = `The address of the node changed from ${before.join(', ')} to ${deps.node.nodeIPs().join(', ')}`;
      parts.events.emit({ type: 'Recorded', eventType: 'Normal', reason: reasons.nodeAddressChanged, message });
      parts.services.update();
    }, stopped);
  }

  private async keepNetwork(stopped: AbortSignal): Promise<void> {
    const { deps, parts } = this;
    await deps.keepNetwork?.((wasCut) => {
      parts.services.update();
      if (!wasCut) return;
      const message = 'Something removed iptables rules of the pod network; they are restored';
      parts.events.emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.networkRulesRestored, message });
    }, stopped);
  }

  /**
   * Creates the cgroups above all pods, then runs the sync loop. The sources and the runtime are read in the meantime.
   */
  private async work(stopped: AbortSignal): Promise<void> {
    const { faults } = this.deps;
    const { containerManager, devices, podResources, housekeeping } = this.parts;
    await faults.untilDone('cgroups', () => containerManager.start(), stopped);
    if (devices !== undefined) await faults.untilDone('device plugins', () => devices.start(), stopped);
    if (podResources !== undefined) await faults.untilDone('resource managers', () => podResources.start(), stopped);
    this.serveSockets(stopped);
    stopped.throwIfAborted();
    housekeeping.start();
    await Promise.all([
      faults.keepRunning('sync loop', () => this.loop(stopped), stopped),
      podResources && faults.keepRunning('resource managers', () => podResources.run(stopped), stopped),
    ]);
  }

  /** Serves the sockets without making pods wait for them. */
  private serveSockets(stopped: AbortSignal): void {
    const { faults } = this.deps;
    const { devices, podResourcesSocket } = this.parts;
    const serve = (part: string, work: () => Promise<void> | undefined): void => {
      const serving = faults.untilDone(part, async () => work(), stopped);
      serving.catch((error: unknown) => {
        if (!stopped.aborted) faults.record(part, error);
      });
    };
    serve('device plugins', () => devices?.serve());
    serve('pod resources', () => podResourcesSocket?.start());
  }

  private loop(stopped: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    return runSyncLoop(
      {
        inputs: this.parts.inputs,
        handler: this.parts.handlers,
        monitor: this.monitor,
        clock,
        logger: logger.child({ component: 'sync-loop' }),
        runtimeError: () => this.parts.runtimeState.error(),
        hasListed: () => this.parts.pleg.lastRelistAt !== undefined,
        onRuntimeReady: (callback) => {
          const unsubscribe = this.parts.events.subscribe(({ type }) => {
            if (type === 'RuntimeReady') callback();
          });
          // The PLEG is healthy only after its first listing.
          const unlisten = this.parts.pleg.onListed(callback);
          return () => {
            unsubscribe();
            unlisten();
          };
        },
      },
      stopped,
    );
  }

  /**
   * Waits for syncs in flight. If they take longer, they are cut off as if the agent was killed, and the next agent
   * repeats them.
   */
  private async finishSyncs(): Promise<void> {
    const syncs = this.parts.workers.drain(new Error('kubelet-ts is stopping'));
    const settled = Promise.allSettled([syncs, this.parts.garbage.settled()]);
    await withTimeout(this.deps.clock, stopTimeoutMs, settled).catch(() => undefined);
  }
}
