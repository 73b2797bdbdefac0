import type { ObservedCall } from '../../cri/observed-service.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import type { ContainerEnd, KubeletEvent } from '../../engine/view/events.ts';
import type { ContainerType, Meter, ProbeRun } from '../../engine/view/meter.ts';
import type { Clock } from '../../clock.ts';
import { EngineCounter } from './engine-counter.ts';
import type { Family } from './family.ts';
import { Distribution, exponentialBuckets, Tally, usualBuckets } from './tally.ts';

/** Calls whose name in the metrics is not their own in snake case. kubelet: kuberuntime/instrumented_services.go */
const operationNames: Readonly<Record<string, string>> = {
  updateContainerResources: 'update_container',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  podSandboxStats: 'podsandbox_stats',
  listPodSandbox: 'list_podsandbox',
  listPodSandboxStats: 'list_podsandbox_stats',
  listPodSandboxMetrics: 'list_podsandbox_metrics',
};

/** Bounds in seconds. kubelet: metrics/metrics.go podStartupDurationBuckets */
const podStartBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];

/** A pod that the engine works on. */
interface SeenPod {
  seenAtMonotonic: number;
  hasStartedWork: boolean;
  hasRun: boolean;
  /** Set while a sync is in flight. kubelet: types/pod_update.go SyncPodType */
  operation?: 'create' | 'sync' | 'update' | 'kill' | 'terminated';
  wasUpdated: boolean;
}

/** Counts and durations since the agent started, for /metrics and /metrics/probes. kubelet: metrics/metrics.go */
export class EngineCounts extends EngineCounter implements Meter {
  private readonly pods = new Map<string, SeenPod>();
  private relistedAtMonotonic: number | undefined;

  private readonly operations = new Tally();
  private readonly operationErrors = new Tally();
  private readonly operationDurations = new Distribution(exponentialBuckets(0.005, 2.5, 14));
  private readonly sandboxDurations = new Distribution(usualBuckets);
  private readonly sandboxErrors = new Tally();
  private readonly startedPods = new Tally({ plain: true });
  private readonly startedPodsErrors = new Tally({ plain: true });
  private readonly startedUserNamespacedPods = new Tally({ plain: true });
  private readonly startedUserNamespacedPodsErrors = new Tally({ plain: true });
  private readonly startedContainers = new Tally();
  private readonly startedContainersErrors = new Tally();
  private readonly terminatedContainers = new Tally();
  private readonly relistDurations = new Distribution(usualBuckets, { plain: true });
  private readonly relistIntervals = new Distribution(usualBuckets, { plain: true });
  private readonly workDurations = new Distribution(usualBuckets);
  private readonly workStarts = new Distribution(usualBuckets, { plain: true });
  private readonly podStarts = new Distribution(podStartBuckets, { plain: true });
  private readonly probes = new Tally();
  private readonly probeDurations = new Distribution(usualBuckets);

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {
    super();
  }

  /** Counts a call to the runtime. */
  readonly called = ({ method, request, durationMs, failed }: ObservedCall): void => {
    const labels = { operation_type: operationType(method) };
    this.operations.add(labels);
    this.operationDurations.observe(durationMs / 1000, labels);
    if (failed) this.operationErrors.add(labels);
    if (method !== 'runPodSandbox') return;
    const { runtimeHandler = '' } = (request ?? {}) as { runtimeHandler?: string };
    this.sandboxDurations.observe(durationMs / 1000, { runtime_handler: runtimeHandler });
    this.startedPods.add();
    const isUserNamespaced = hasUserNamespace(request);
    if (isUserNamespaced) this.startedUserNamespacedPods.add();
    if (!failed) return;
    if (isUserNamespaced) this.startedUserNamespacedPodsErrors.add();
    this.sandboxErrors.add({ runtime_handler: runtimeHandler });
    this.startedPodsErrors.add();
  };

  relisted(durationMs: number): void {
    const nowMonotonic = this.clock.monotonic();
    this.relistDurations.observe(durationMs / 1000);
    if (this.relistedAtMonotonic !== undefined) {
      this.relistIntervals.observe((nowMonotonic - this.relistedAtMonotonic) / 1000);
    }
    this.relistedAtMonotonic = nowMonotonic;
  }

  probed({ podUID, pod, namespace, container, probeType, result, durationMs }: ProbeRun): void {
    const labels = { probe_type: probeType, container, pod, namespace };
    this.probes.add({ ...labels, pod_uid: podUID, result });
    if (result !== 'failed') this.probeDurations.observe(durationMs / 1000, labels);
  }

  containerStarting(type: ContainerType): void {
    this.startedContainers.add({ container_type: type });
  }

  containerNotStarted(type: ContainerType, code: string): void {
    this.startedContainersErrors.add({ container_type: type, code });
  }

  /** Counts the exit of a container. */
  containerTerminated(type: ContainerType, { exitCode, reason }: Pick<ContainerEnd, 'exitCode' | 'reason'>): void {
    const shown = reason === '' ? (exitCode === 0 ? 'Completed' : 'Error') : reason;
    this.terminatedContainers.add({ container_type: type, exit_code: String(exitCode), reason: shown });
  }

  /** Counts an engine event. */
  readonly happened = (event: KubeletEvent): void => {
    if (event.type === 'PodAdded') {
      // It still terminates.
      if (this.pods.has(event.pod.uid)) this.count('kubelet_restarted_pods_total', { static: 'true' });
      this.track(event.pod.uid);
    }
    if (event.type === 'PodUpdated') this.track(event.pod.uid).wasUpdated = true;
    if (event.type === 'SyncStarted') this.syncStarted(this.track(event.pod.uid), event.state);
    if (event.type === 'SyncFinished') {
      // A pod without a manifest is dropped when the sync that kills it finishes.
      const seen = this.pods.get(event.pod.uid);
      const operation = seen === undefined ? 'kill' : (seen.operation ?? 'sync');
      this.workDurations.observe(event.durationMs / 1000, { operation_type: operation });
    }
    if (event.type === 'PodStatusChanged' && event.phase === 'Running') this.recordRunning(event.pod.uid);
    if (event.type === 'WorkerStateChanged' && event.state === 'removed') this.deletePod(event.pod);
  };

  private track(uid: string): SeenPod {
    const known = this.pods.get(uid);
    if (known !== undefined) return known;
    const seen = { seenAtMonotonic: this.clock.monotonic(), hasStartedWork: false, hasRun: false, wasUpdated: false };
    this.pods.set(uid, seen);
    return seen;
  }

  private syncStarted(seen: SeenPod, state: string): void {
    if (state === 'terminating') seen.operation = 'kill';
    else if (state === 'terminated') seen.operation = 'terminated';
    else if (!seen.hasStartedWork) seen.operation = 'create';
    else seen.operation = seen.wasUpdated ? 'update' : 'sync';
    seen.wasUpdated = false;
    if (seen.hasStartedWork) return;
    seen.hasStartedWork = true;
    this.workStarts.observe(this.sinceSeen(seen));
  }

  private recordRunning(uid: string): void {
    const seen = this.pods.get(uid);
    if (seen === undefined || seen.hasRun) return;
    seen.hasRun = true;
    this.podStarts.observe(this.sinceSeen(seen));
  }

  private sinceSeen({ seenAtMonotonic }: SeenPod): number {
    return (this.clock.monotonic() - seenAtMonotonic) / 1000;
  }

  /** The series of a removed pod are deleted, so that their number stays bounded. kubelet: prober/worker.go run */
  private deletePod({ uid, name, namespace }: { uid: string; name: string; namespace: string }): void {
    this.pods.delete(uid);
    this.probes.delete((labels) => labels['pod_uid'] === uid);
    this.probeDurations.delete((labels) => labels['pod'] === name && labels['namespace'] === namespace);
  }

  /** Families of /metrics/probes, without that of the process. */
  probeFamilies(): Family[] {
    return [
      histogram('prober_probe_duration_seconds', 'Duration in seconds for a probe response.', this.probeDurations),
      counter(
        'prober_probe_total',
        'Cumulative number of a liveness, readiness or startup probe for a container by result.',
        this.probes.samples(),
      ),
    ];
  }

  /** Families of /metrics that this counts. */
  override families(): Family[] {
    return [
      ...super.families(),
      histogram(
        'kubelet_pleg_relist_duration_seconds',
        'Duration in seconds for relisting pods in PLEG.',
        this.relistDurations,
      ),
      histogram(
        'kubelet_pleg_relist_interval_seconds',
        'Interval in seconds between relisting in PLEG.',
        this.relistIntervals,
      ),
      histogram('kubelet_pod_start_duration_seconds', help.podStart, this.podStarts),
      histogram('kubelet_pod_worker_duration_seconds', help.podWorker, this.workDurations),
      histogram('kubelet_pod_worker_start_duration_seconds', help.podWorkerStart, this.workStarts),
      histogram('kubelet_run_podsandbox_duration_seconds', help.sandbox, this.sandboxDurations),
      counter('kubelet_run_podsandbox_errors_total', help.sandboxErrors, this.sandboxErrors.samples()),
      histogram('kubelet_runtime_operations_duration_seconds', help.operationDuration, this.operationDurations),
      counter('kubelet_runtime_operations_errors_total', help.operationErrors, this.operationErrors.samples()),
      counter('kubelet_runtime_operations_total', help.operations, this.operations.samples()),
      counter('kubelet_started_containers_errors_total', help.containerErrors, this.startedContainersErrors.samples()),
      counter('kubelet_started_containers_total', help.containers, this.startedContainers.samples()),
      counter('kubelet_started_pods_errors_total', help.podErrors, this.startedPodsErrors.samples()),
      counter('kubelet_started_pods_total', help.pods, this.startedPods.samples()),
      counter(
        'kubelet_started_user_namespaced_pods_errors_total',
        'Cumulative number of errors when starting pods with user namespaces',
        this.startedUserNamespacedPodsErrors.samples(),
      ),
      counter(
        'kubelet_started_user_namespaced_pods_total',
        'Cumulative number of pods with user namespaces started',
        this.startedUserNamespacedPods.samples(),
      ),
      counter('kubelet_terminated_containers_total', help.terminated, this.terminatedContainers.samples()),
    ];
  }
}

const help = {
  podStart: 'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
  podWorker: 'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  podWorkerStart: 'Duration in seconds from kubelet seeing a pod to starting a worker.',
  sandbox: 'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
  sandboxErrors: 'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  operationDuration: 'Duration in seconds of runtime operations. Broken down by operation type.',
  operationErrors: 'Cumulative number of runtime operation errors by operation type.',
  operations: 'Cumulative number of runtime operations by operation type.',
  containerErrors: 'Cumulative number of errors when starting containers',
  containers: 'Cumulative number of containers started',
  podErrors: 'Cumulative number of errors when starting pods',
  pods: 'Cumulative number of pods started',
  terminated: 'Cumulative number of terminated containers by type, exit code and reason',
};

const counter = (name: string, text: string, samples: Family['samples']): Family => ({
  name,
  type: 'counter',
  help: `[ALPHA] ${text}`,
  samples,
});

const histogram = (name: string, text: string, distribution: Distribution): Family => ({
  name,
  type: 'histogram',
  help: `[ALPHA] ${text}`,
  samples: distribution.samples(name),
});

/** Label `operation_type` of a call to the runtime, such as `create_container`. */
function operationType(method: string): string {
  return operationNames[method] ?? method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** True for the request of a pod with `hostUsers: false`. */
function hasUserNamespace(request: unknown): boolean {
  const { config } = (request ?? {}) as { config?: PodSandboxConfig };
  return config?.linux?.securityContext?.namespaceOptions?.usernsOptions?.mode === 'POD';
}
