import type { Pod } from '../../api/types.ts';
import { allContainerStatuses } from '../../api/values/container-statuses.ts';
import type { MeasuredCgroup } from '../../engine/stats/measured-cgroups.ts';
import type {
  CPUStats,
  FsStats,
  MemoryStats,
  NetworkStats,
  PSIStats,
  Summary,
  SwapStats,
} from '../../engine/stats/summary.ts';

/** A row of each family: the node, all pods together, a pod, its sandbox or a container. */
export interface Usage {
  labels: Readonly<Record<'container' | 'id' | 'image' | 'name' | 'namespace' | 'pod', string>>;
  startTime: string;
  cpu?: CPUStats;
  memory?: MemoryStats;
  swap?: SwapStats;
  network?: NetworkStats;
  fs?: FsStats;
  io?: { time: string; psi: PSIStats };
  processes?: number;
  /** Absent without a cgroup. */
  cgroup?: MeasuredCgroup;
}

/** The network of a pod is that of its sandbox. kubelet: server/server.go containerPrometheusLabelsFunc */
export function usagesOf(
  { node, pods: measured }: Summary,
  cgroups: readonly MeasuredCgroup[],
  pods: readonly Pod[],
): Usage[] {
  const known = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const byKey = new Map(cgroups.map((cgroup) => [keyOf(cgroup), cgroup]));
  const ofNode = byKey.get('node');
  const ofAllPods = byKey.get('pods');
  const none = { container: '', id: '', image: '', name: '', namespace: '', pod: '' };
  const ofPods = measured.flatMap(({ podRef, containers, process_stats, network, ...usage }): Usage[] => {
    const { namespace, name: pod, uid } = podRef;
    const statuses = allContainerStatuses(known.get(uid)?.status);
    const processes = process_stats?.process_count;
    const [ownCgroup, sandbox] = [byKey.get(`pod ${uid}`), byKey.get(`sandbox ${uid}`)];
    const labels = { ...none, namespace, pod };
    const shown = network === undefined ? {} : { network };
    return [
      {
        ...usage,
        ...(processes !== undefined && { processes }),
        ...(sandbox === undefined && shown),
        ...withCgroup(ownCgroup, labels),
      },
      ...(sandbox === undefined ? [] : [{ ...rowOf(sandbox, { ...labels, name: sandbox.runtimeID ?? '' }), ...shown }]),
      ...containers.map(({ name, rootfs, ...figures }): Usage => {
        const { containerID = '', image = '' } = statuses.find((status) => status.name === name) ?? {};
        const id = containerID.replace(/^.*:\/\//, '');
        const own = byKey.get(`container ${uid} ${name}`);
        return {
          ...figures,
          ...(own?.processes !== undefined && { processes: own.processes }),
          ...(rootfs && { fs: rootfs }),
          ...withCgroup(own, { ...labels, container: name, image, name: own?.runtimeID ?? id }),
        };
      }),
    ];
  });
  return [
    { ...node, ...withCgroup(ofNode, { ...none, id: '/' }) },
    ...(ofAllPods === undefined ? [] : [rowOf(ofAllPods, none)]),
    ...ofPods,
  ];
}

function keyOf({ of, pod, container }: MeasuredCgroup): string {
  return [of, ...(pod ? [pod.uid] : []), ...(container === undefined ? [] : [container])].join(' ');
}

function withCgroup(cgroup: MeasuredCgroup | undefined, labels: Usage['labels']): Pick<Usage, 'labels' | 'cgroup'> {
  return cgroup === undefined ? { labels } : { labels: { ...labels, id: cgroup.path }, cgroup };
}

/** A row that is in no summary. */
function rowOf(cgroup: MeasuredCgroup, labels: Usage['labels']): Usage {
  const { usage, startTime = '', processes } = cgroup;
  return { ...withCgroup(cgroup, labels), ...usage, startTime, ...(processes !== undefined && { processes }) };
}
