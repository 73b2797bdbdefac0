import type { Container, ContainerStatus, Pod, PodStatus } from '../../api/types.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { mayRestart } from '../../api/values/restart-rules.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { initialProbeState, nextProbeStep, type ProbedContainer, type ProbeView } from './next-probe-step.ts';
import type { ProbedBefore, ProbeResult, ProbeResults, ProbeType, ProbeWorkers } from '../container/probe-results.ts';
import { ProbeWorker } from './probe-worker.ts';
import { probeContainer, probeTitles } from './prober.ts';
import type { ProbeDeps } from './run-probe.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';

/** In the kubelet's order. */
const probeTypes: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/** A timer fires at most this much too early. */
const timerSlackMs = 1;

/** Result names of the kubelet's metrics. kubelet: prober/results */
const meteredResults = { success: 'successful', failure: 'failed', error: 'unknown' } as const;

/** A published probe result. */
export interface ProbeChange {
  podUID: string;
  type: ProbeType;
  /** Without the runtime prefix. */
  containerID: string;
  result: ProbeResult;
}

interface Deps extends ProbeDeps {
  meter?: Pick<Meter, 'probed'> | undefined;
  getStatus: (podUID: string) => PodStatus | undefined;
  onChange: (change: ProbeChange) => void;
  emit: Emit;
  wallClock: Pick<WallClockHistory, 'since'>;
  /** Returns the addresses of pods on the host network, primary first. */
  nodeIPs: () => readonly string[];
  /** Uniform in [0, 1). */
  random: () => number;
}

/** One worker for each probe of each container except plain init containers. kubelet: prober/prober_manager.go */
export class ProberManager {
  private readonly startedAtMonotonic: number;
  /** By pod UID, then by `type/container`. */
  private readonly workers = new Map<string, Map<string, ProbeWorker>>();
  private readonly published: Record<ProbeType, Map<string, ProbeResult>> = {
    startup: new Map(),
    readiness: new Map(),
    liveness: new Map(),
  };

  constructor(private readonly deps: Deps) {
    this.startedAtMonotonic = deps.clock.monotonic();
  }

  get results(): ProbeResults {
    return this.published;
  }

  /** Restores the probe results of an earlier agent. Call it before the containers' workers start. */
  resume(pod: Pod, before: readonly ProbedBefore[]): void {
    for (const { name, startupProbe, readinessProbe } of probedContainers(pod)) {
      const found = before.find((container) => container.name === name);
      if (found === undefined) continue;
      const id = withoutRuntime(found.id);
      if (startupProbe && found.started) this.published.startup.set(id, 'success');
      if (readinessProbe && found.ready) this.published.readiness.set(id, 'success');
    }
  }

  /** Starts the missing workers of the pod. */
  addPod(pod: Pod): void {
    for (const container of probedContainers(pod)) {
      for (const type of probeTypes) this.addWorker(pod, container, type);
    }
  }

  /** Stops the probes that lead to restarts, because the pod terminates. Readiness probes continue. */
  stopLivenessAndStartup(pod: Pod): void {
    for (const { name } of pod.spec.containers) {
      for (const type of ['liveness', 'startup'] as const) {
        this.workers.get(pod.metadata.uid)?.get(keyOf(type, name))?.stop();
      }
    }
  }

  removePod(uid: string): void {
    for (const worker of this.workers.get(uid)?.values() ?? []) worker.stop();
  }

  /** Stops the workers of all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.workers.keys()) if (!podUIDs.has(uid)) this.removePod(uid);
  }

  workersOf(uid: string): ProbeWorkers {
    const names = (type: ProbeType): Set<string> =>
      new Set(
        [...(this.workers.get(uid)?.keys() ?? [])].flatMap((key) =>
          key.startsWith(`${type}/`) ? [key.slice(type.length + 1)] : [],
        ),
      );
    return { startup: names('startup'), readiness: names('readiness') };
  }

  /** Probes running containers that are not ready at once, without waiting for the next tick. */
  triggerReadiness(uid: string, podStatus: PodStatus): void {
    for (const { name, state, started, ready } of initAndRegularStatuses(podStatus)) {
      if (state?.running === undefined || started !== true || ready) continue;
      this.workers.get(uid)?.get(keyOf('readiness', name))?.trigger();
    }
  }

  /** Measures a probe. An aborted probe does not count. kubelet: prober/worker.go doProbe */
  private async measured(
    { metadata: { uid, name, namespace } }: Pod,
    container: string,
    type: ProbeType,
    run: () => ReturnType<typeof probeContainer>,
  ): ReturnType<typeof probeContainer> {
    const { clock, meter } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    const outcome = await run();
    meter?.probed({
      podUID: uid,
      pod: name,
      namespace,
      container,
      probeType: probeTitles[type],
      result: meteredResults[outcome],
      durationMs: clock.monotonic() - startedAtMonotonic,
    });
    return outcome;
  }

  private addWorker(pod: Pod, container: Container, type: ProbeType): void {
    const { clock, random, emit, onChange } = this.deps;
    const { uid } = pod.metadata;
    const probe = container[`${type}Probe`];
    const key = keyOf(type, container.name);
    if (probe === undefined || this.workers.get(uid)?.has(key) === true) return;
    // Create no worker for a probe that is permanently done, because its result would cause another sync each time.
    const restarts = { mayRestart: mayRestart(container, pod.spec) };
    const first = nextProbeStep({ type, probe, ...restarts }, initialProbeState, this.view(pod, container.name));
    if (first.next === 'end') return;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    const recorder = podEventRecorder(emit, pod);
    const results = this.published[type];
    const { id = '', state } = this.view(pod, container.name).container ?? {};
    const isSpread = state === 'running' && clock.monotonic() - this.startedAtMonotonic < periodMs;
    const worker = new ProbeWorker({
      // The result of an earlier agent is valid until there is a new one.
      ...(results.has(id) && { resumed: { ...initialProbeState, containerID: id, onHold: type === 'startup' } }),
      type,
      probe,
      ...restarts,
      view: () => this.view(pod, container.name),
      probeContainer: (containerID, signal) => {
        const target = { container, containerID, podIP: this.addressOf(pod), signal };
        return this.measured(pod, container.name, type, () => probeContainer(this.deps, type, probe, target, recorder));
      },
      publish: (containerID, result) => {
        if (results.get(containerID) === result) return;
        if (result === undefined) {
          results.delete(containerID);
          return;
        }
        results.set(containerID, result);
        onChange({ podUID: uid, type, containerID, result });
      },
      // Spreads the probes of containers that ran before the agent over their period. Others start at different times.
      delayMs: isSpread ? random() * periodMs : 0,
      clock,
    });
    const workers = this.workers.get(uid) ?? new Map<string, ProbeWorker>();
    this.workers.set(uid, workers.set(key, worker));
    void worker.run().finally(() => {
      workers.delete(key);
      if (workers.size === 0) this.workers.delete(uid);
    });
  }

  /** Returns the address that the pod's status shows. Empty if it has none yet. */
  private addressOf({ metadata, spec }: Pod): string {
    const { getStatus, nodeIPs } = this.deps;
    return (spec.hostNetwork === true ? nodeIPs()[0] : getStatus(metadata.uid)?.podIP) ?? '';
  }

  private view(pod: Pod, containerName: string): ProbeView {
    const status = this.deps.getStatus(pod.metadata.uid);
    const container = initAndRegularStatuses(status).find(({ name }) => name === containerName);
    return {
      phase: status === undefined ? undefined : (status.phase ?? ''),
      container: container && probedContainer(container, this.deps.wallClock),
      deleting: pod.metadata.deletionTimestamp !== undefined,
    };
  }
}

const withoutRuntime = (containerID: string): string => containerID.replace(/^[^:]*:\/\//, '');

const keyOf = (type: ProbeType, containerName: string): string => `${type}/${containerName}`;

function probedContainers({ spec }: Pod): Container[] {
  return [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
}

function probedContainer(
  { containerID = '', state, started }: ContainerStatus,
  wallClock: Pick<WallClockHistory, 'since'>,
): ProbedContainer {
  const startedAt = state?.running?.startedAt;
  return {
    id: withoutRuntime(containerID),
    state: state?.running ? 'running' : state?.terminated ? 'terminated' : 'waiting',
    runningSeconds:
      startedAt === undefined ? 0 : Math.floor((wallClock.since(Date.parse(startedAt)) + timerSlackMs) / 1000),
    started,
  };
}
