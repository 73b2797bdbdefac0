import type { PodCondition, PodSpec } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { volumePlugin } from '../../api/values/volume-plugin.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { allContainerStatuses } from '../../api/values/container-statuses.ts';
import type { DiskUsage, LogUsage } from '../../engine/stats/stats-provider.ts';
import type { FsStats, VolumeStats } from '../../engine/stats/summary.ts';
import type { EngineActivity, PodActivity } from '../../engine/view/snapshot.ts';
import type { PodWorkerState } from '../../engine/view/pod-worker-state.ts';
import type { Family, Sample } from './family.ts';
import { Distribution, exponentialBuckets } from './tally.ts';

/** The current state of the engine, for /metrics. Every pod is static. kubelet: metrics/metrics.go */
export function engineGauges(activity: EngineActivity, { logs, claims }: DiskUsage): Family[] {
  const { nodeName, pods, lastRelistAt } = activity;
  const declared = pods.filter(({ isDeclared }) => isDeclared);
  const ephemeral = pods.reduce((sum, { pod }) => sum + (pod.spec.ephemeralContainers ?? []).length, 0);
  const ofStatic = (count: number): Sample[] => [{ labels: { static: 'true' }, value: count }];
  return [
    gauge('kubelet_active_pods', help.active, ofStatic(declared.filter(isActive).length)),
    gauge('kubelet_container_log_filesystem_used_bytes', help.logs, logSizes(logs)),
    {
      name: containersPerPod,
      type: 'histogram',
      help: '[ALPHA] The number of containers per pod.',
      samples: containerCounts(pods),
    },
    gauge('kubelet_desired_pods', help.desired, ofStatic(declared.length)),
    gauge('kubelet_managed_ephemeral_containers', help.ephemeral, plain(ephemeral)),
    gauge('kubelet_mirror_pods', help.mirror, plain(0)),
    gauge('kubelet_node_name', "The node's name. The count is always 1.", [{ labels: { node: nodeName }, value: 1 }]),
    gauge('kubelet_pod_in_progress_resizes', help.resizing, plain(resizing(pods, 'PodResizeInProgress').length)),
    gauge('kubelet_pod_pending_resizes', help.pendingResizes, pendingResizes(pods)),
    gauge(
      'kubelet_pleg_last_seen_seconds',
      'Timestamp in seconds when PLEG was last seen active.',
      lastRelistAt === undefined ? [] : plain(lastRelistAt / 1000),
    ),
    gauge('kubelet_running_containers', 'Number of containers currently running', containerStates(pods)),
    gauge(
      'kubelet_running_pods',
      'Number of pods that have a running pod sandbox',
      plain(pods.filter(({ pod }) => pod.status?.phase === 'Running').length),
    ),
    ...claimFamilies(claims),
    gauge('kubelet_working_pods', help.working, lifecycles(activity)),
    gauge('volume_manager_total_volumes', 'Number of volumes in Volume Manager', volumes(pods)),
  ];
}

const containersPerPod = 'kubelet_containers_per_pod_count';

function containerCounts(pods: readonly PodActivity[]): Sample[] {
  const counts = new Distribution(exponentialBuckets(1, 2, 5));
  for (const { pod } of pods) counts.observe(pod.spec.containers.length);
  return counts.samples(containersPerPod);
}

/** kubelet: kubelet_pods.go updateRunningContainers; states of the runtime */
function containerStates(pods: readonly PodActivity[]): Sample[] {
  const counts = new Map<string, number>();
  for (const { pod } of pods) {
    for (const { state } of allContainerStatuses(pod.status)) {
      const name = state?.running ? 'running' : state?.terminated ? 'exited' : undefined;
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].map(([name, value]) => ({ labels: { container_state: name }, value }));
}

function resizing(pods: readonly PodActivity[], type: 'PodResizeInProgress' | 'PodResizePending'): PodCondition[] {
  return pods.flatMap(({ pod }) => pod.status?.conditions?.find((condition) => condition.type === type) ?? []);
}

function pendingResizes(pods: readonly PodActivity[]): Sample[] {
  const counts = new Map<string, number>();
  for (const { reason = '' } of resizing(pods, 'PodResizePending')) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, value]) => ({ labels: { reason: reason.toLowerCase() }, value }));
}

/** A refused pod is in a final phase, as is one that ends. kubelet: kubelet_pods.go filterOutInactivePods */
function isActive({ pod: { status }, state }: PodActivity): boolean {
  if (state === 'terminated' || state === 'finished') return false;
  return state === 'terminating' || !isPodPhaseTerminal(status?.phase);
}

/** kubelet: pod_workers.go PodWorkerState */
const lifecycleOf = {
  waiting: 'sync',
  sync: 'sync',
  terminating: 'terminating',
  terminated: 'terminated',
  finished: 'terminated',
} as const satisfies Record<PodWorkerState, string>;

/** kubelet: kubelet_pods.go HandlePodCleanups */
function lifecycles({ pods, runtimeOnly }: EngineActivity): Sample[] {
  const statesOf = (of: readonly PodActivity[]): PodWorkerState[] => of.flatMap(({ state }) => state ?? []);
  const configs = [
    { config: 'desired', static: 'true', states: statesOf(pods.filter(({ isDeclared }) => isDeclared)) },
    { config: 'orphan', static: 'true', states: statesOf(pods.filter(({ isDeclared }) => !isDeclared)) },
    { config: 'runtime_only', static: 'unknown', states: runtimeOnly },
  ];
  return configs.flatMap(({ config, static: isStatic, states }) =>
    (['sync', 'terminating', 'terminated'] as const).map((lifecycle) => ({
      labels: { config, lifecycle, static: isStatic },
      value: states.filter((state) => lifecycleOf[state] === lifecycle).length,
    })),
  );
}

function logSizes(logs: readonly LogUsage[]): Sample[] {
  return logs.map(({ pod: { uid, namespace, name: pod }, container, usedBytes }) => ({
    labels: { uid, namespace, pod, container },
    value: usedBytes,
  }));
}

/** A claim that several pods use has one series. kubelet: metrics/collectors/volume_stats.go */
function claimFamilies(volumes: readonly VolumeStats[]): Family[] {
  const byClaim = new Map<string, { labels: Sample['labels']; usage: FsStats }>();
  for (const { pvcRef, ...usage } of volumes) {
    if (pvcRef === undefined) continue;
    const labels = { namespace: pvcRef.namespace, persistentvolumeclaim: pvcRef.name };
    byClaim.set(`${pvcRef.namespace}/${pvcRef.name}`, { labels, usage });
  }
  const ofClaims = (name: string, text: string, figure: keyof Omit<FsStats, 'time'>): Family => {
    const samples = [...byClaim.values()].flatMap(({ labels, usage }) => {
      const value = usage[figure];
      return value === undefined ? [] : [{ labels, value }];
    });
    return gauge(`kubelet_volume_stats_${name}`, text, samples);
  };
  return [
    ofClaims('available_bytes', 'Number of available bytes in the volume', 'availableBytes'),
    ofClaims('capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'),
    ofClaims('inodes', 'Maximum number of inodes in the volume', 'inodes'),
    ofClaims('inodes_free', 'Number of free inodes in the volume', 'inodesFree'),
    ofClaims('inodes_used', 'Number of used inodes in the volume', 'inodesUsed'),
    ofClaims('used_bytes', 'Number of used bytes in the volume', 'usedBytes'),
  ];
}

/** Volumes of pods that are to run, and of those that are not torn down yet. kubelet: volumemanager/metrics */
function volumes(pods: readonly PodActivity[]): Sample[] {
  const desired = new Map<string, number>();
  const actual = new Map<string, number>();
  const add = (counts: Map<string, number>, plugins: readonly string[]): void => {
    for (const plugin of plugins) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
  };
  for (const { pod, state } of pods) {
    if (state === 'sync') add(desired, mountedPlugins(pod.spec));
    if (state === 'sync' || state === 'terminating' || state === 'terminated') add(actual, mountedPlugins(pod.spec));
  }
  const samples = (counts: ReadonlyMap<string, number>, state: string): Sample[] =>
    Array.from(counts, ([plugin, value]) => ({ labels: { plugin_name: plugin, state }, value }));
  return [...samples(desired, 'desired_state_of_world'), ...samples(actual, 'actual_state_of_world')];
}

/** Kept with each specification, because each scrape counts those of all pods. */
const knownPlugins = new WeakMap<PodSpec, readonly string[]>();

/** The plugin of each volume that a container mounts. */
function mountedPlugins(spec: PodSpec): readonly string[] {
  let plugins = knownPlugins.get(spec);
  if (plugins === undefined) {
    const containers = initAndRegularContainers(spec);
    const names = new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
    plugins = (spec.volumes ?? []).filter(({ name }) => names.has(name)).map(volumePlugin);
    knownPlugins.set(spec, plugins);
  }
  return plugins;
}

const plain = (value: number): Sample[] => [{ labels: {}, value }];

const gauge = (name: string, text: string, samples: Sample[]): Family => ({
  name,
  type: 'gauge',
  help: `[ALPHA] ${text}`,
  samples,
});

const isStatic = 'static is true if the pod is not from the apiserver.';
const help = {
  resizing: 'Number of pods whose resources are being changed while they run.',
  pendingResizes: 'Number of pods whose change of resources waits.',
  active: `The number of pods the kubelet considers active and which are being considered when admitting new pods. ${isStatic}`,
  logs: "Bytes used by the container's logs on the filesystem.",
  desired: `The number of pods the kubelet is being instructed to run. ${isStatic}`,
  ephemeral: 'Current number of ephemeral containers in pods managed by this kubelet.',
  mirror: 'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
  working:
    'Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, ' +
    'orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from ' +
    'local configuration or force deleted in the API and consumes resources that are not otherwise visible.',
};
