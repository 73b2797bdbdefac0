import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from 'vitest';
import { MetricFamily } from '../../src/server/generated/prometheus.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { AgentMetrics, type MetricsPath, metricsPaths } from '../../src/server/metrics/agent-metrics.ts';
import { promtoolFaults } from '../support/promtool.ts';
import type { Pod } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { DirectPlugins, goodPlugin, healthy } from '../fakes/direct-plugins.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** Boots a measured engine with one ready pod `web`, whose container has used 2 s of CPU time and 3000 bytes. */
async function measured(): Promise<{ world: World; engine: Engine; metrics: AgentMetrics }> {
  const world = await World.make();
  world.runtime.scriptExec(() => ({ exitCode: 0 }));
  const source = new ManualSource();
  const metrics = new AgentMetrics(world.clock, { version: 'v1.36.3', featureGates: defaultFeatureGates });
  const engine = await world.boot({ sources: [source], meter: metrics.counts });
  metrics.follow(engine.kubelet);
  const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 10, timeoutSeconds: 1 };
  const main = { name: 'main', image: 'registry.example/app:1', readinessProbe };
  source.set(makeStaticPod('web', { spec: { containers: [main] } }));
  await world.until(() => engine.isReady('web-edge1'));
  const time = '2026-01-02T03:04:05.000Z';
  const usage = {
    startTime: time,
    cpu: { time, usageCoreNanoSeconds: 2e9 },
    memory: { time, usageBytes: 4000, workingSetBytes: 3000, rssBytes: 2000 },
  };
  const claimed = { time, capacityBytes: 9000, availableBytes: 8000, usedBytes: 1000, inodes: 90, inodesUsed: 1 };
  const uid = engine.pod('web-edge1')?.pod.metadata.uid ?? '';
  world.stats.pods.set('web', {
    podRef: { name: 'web-edge1', namespace: 'default', uid },
    ...usage,
    network: { time, name: 'eth0', interfaces: [{ name: 'eth0', rxBytes: 5, rxErrors: 0, txBytes: 6, txErrors: 0 }] },
    volume: [
      { name: 'data', pvcRef: { name: 'disk', namespace: 'default' }, ...claimed },
      { name: 'cache', ...claimed },
    ],
    containers: [{ name: 'main', ...usage, logs: { time, usedBytes: 77 }, rootfs: { time, usedBytes: 55 } }],
  });
  return { world, engine, metrics };
}

const pageOf = async (metrics: AgentMetrics, path: MetricsPath): Promise<string> =>
  (await metrics.text(path)).toString();

const seriesOf = (page: string, prefix: string): string[] => page.split('\n').filter((line) => line.startsWith(prefix));

/** Names of the kubelet that promtool does not like. */
const cadvisorFaults = [
  "cadvisor_version_info label names should be written in 'snake_case' not 'camelCase'",
  'container_fs_inodes_total non-counter metrics should not have "_total" suffix',
];

describe('a scrape', () => {
  test('of /metrics/resource shows what containers and pods use, with the time of each figure', async () => {
    const { metrics } = await measured();
    const page = await pageOf(metrics, '/metrics/resource');
    const labels = 'pod="web-edge1",namespace="default"';
    expect([...seriesOf(page, 'container_'), ...seriesOf(page, 'pod_'), ...seriesOf(page, 'resource_')]).toEqual([
      `container_cpu_usage_seconds_total{container="main",${labels}} 2 1767323045000`,
      `container_memory_working_set_bytes{container="main",${labels}} 3000 1767323045000`,
      `container_start_time_seconds{container="main",${labels}} 1767323045`,
      `pod_cpu_usage_seconds_total{${labels}} 2 1767323045000`,
      `pod_memory_working_set_bytes{${labels}} 3000 1767323045000`,
      'resource_scrape_error 0',
    ]);
  });

  test('of /metrics/resource reports that the usage cannot be measured', async () => {
    const { world, metrics } = await measured();
    world.stats.instead = () => Promise.reject(new Error('no usage'));
    expect(seriesOf(await pageOf(metrics, '/metrics/resource'), 'resource_')).toEqual(['resource_scrape_error 1']);
  });

  test('of /metrics/cadvisor names the container of each figure', async () => {
    const { engine, metrics } = await measured();
    const page = await pageOf(metrics, '/metrics/cadvisor');
    const { containerID = '', image = '' } = engine.pod('web-edge1')?.pod.status?.containerStatuses?.[0] ?? {};
    const name = containerID.replace(/^.*:\/\//, '');
    const names = ['cpu', 'fs_usage', 'network_receive_b'].flatMap((one) => seriesOf(page, `container_${one}`));
    expect(names).toEqual([
      'container_cpu_usage_seconds_total{container="",id="",image="",name="",namespace="default",pod="web-edge1",cpu="total"} 2 1767323045000',
      `container_cpu_usage_seconds_total{container="main",id="",image="${image}",name="${name}",namespace="default",pod="web-edge1",cpu="total"} 2 1767323045000`,
      `container_fs_usage_bytes{container="main",id="",image="${image}",name="${name}",namespace="default",pod="web-edge1",device=""} 55 1767323045000`,
      'container_network_receive_bytes_total{container="",id="",image="",name="",namespace="default",pod="web-edge1",interface="eth0"} 5 1767323045000',
    ]);
  });

  test('of /metrics/cadvisor has a row for each cgroup, and the network at the sandbox', async () => {
    const { world, engine, metrics } = await measured();
    const uid = engine.pod('web-edge1')?.pod.metadata.uid ?? '';
    const time = '2026-01-02T03:04:05.000Z';
    const pod = { name: 'web-edge1', namespace: 'default', uid };
    const cpu = { periods: 10, throttledPeriods: 4, throttledSeconds: 0.5, quotaMicros: 50000, periodMicros: 100000 };
    const limits = { limitBytes: 0, swapLimitBytes: 0 };
    const device = { device: '8:0', readBytes: 4096, writtenBytes: 512, reads: 2, writes: 1 };
    const bare = { time, details: { cpu: {}, memory: limits, devices: [] } };
    const counters = { rxBytes: 1, rxErrors: 0, txBytes: 1, txErrors: 0, rxPackets: 7, rxDropped: 0 };
    const disk = {
      ...{ number: '8:0', name: 'sda', reads: 10, readsMerged: 1, sectorsRead: 80, readSeconds: 0.5, writes: 20 },
      ...{ writesMerged: 2, sectorsWritten: 160, writeSeconds: 1.5, inProgress: 1, ioSeconds: 2, weightedSeconds: 2.5 },
    };
    world.stats.measuredCgroups = [
      { of: 'node', path: '/', ...bare, disks: [disk] },
      { of: 'pods', path: '/kubepods', ...bare, usage: { memory: { time, usageBytes: 9 } } },
      { of: 'pod', path: '/kubepods/pod1', pod, ...bare },
      {
        ...{ of: 'sandbox', path: '/kubepods/pod1/s1', pod, runtimeID: 's1', ...bare, processes: 1 },
        interfaces: [{ name: 'eth0', ...counters, txPackets: 8, txDropped: 0 }],
      },
      {
        ...{ of: 'container', path: '/kubepods/pod1/c1', pod, container: 'main', runtimeID: 'c1', time },
        ...{
          details: { cpu, memory: { ...limits, limitBytes: 64, oomKills: 2, failures: 3 }, devices: [device] },
          openFilesLimit: 1024,
        },
      },
    ];
    const page = await pageOf(metrics, '/metrics/cadvisor');
    const { image = '' } = engine.pod('web-edge1')?.pod.status?.containerStatuses?.[0] ?? {};
    const none = 'image="",name="",namespace="",pod=""';
    const [ofNode, ofPods] = [`container="",id="/",${none}`, `container="",id="/kubepods",${none}`];
    const inPod = 'namespace="default",pod="web-edge1"';
    const ofPod = `container="",id="/kubepods/pod1",image="",name="",${inPod}`;
    const ofSandbox = `container="",id="/kubepods/pod1/s1",image="",name="s1",${inPod}`;
    const ofMain = `container="main",id="/kubepods/pod1/c1",image="${image}",name="c1",${inPod}`;
    const at = Date.parse(time);
    const names = [
      'cpu_cfs',
      'fs_reads_t',
      'memory_failcnt',
      'memory_usage',
      'network_receive_b',
      'network_receive_packets_t',
    ];
    const series = [...names, 'oom_events', 'processes', 'spec_memory_swap', 'ulimits'].flatMap((one) =>
      seriesOf(page, `container_${one}`),
    );
    expect(series).toEqual([
      `container_cpu_cfs_periods_total{${ofMain}} 10 ${at}`,
      `container_cpu_cfs_throttled_periods_total{${ofMain}} 4 ${at}`,
      `container_cpu_cfs_throttled_seconds_total{${ofMain}} 0.5 ${at}`,
      `container_fs_reads_total{${ofNode},device="/dev/sda"} 10 ${at}`,
      `container_fs_reads_total{${ofMain},device="/dev/sda"} 2 ${at}`,
      `container_memory_failcnt{${ofMain}} 3 ${at}`,
      `container_memory_usage_bytes{${ofPods}} 9 ${at}`,
      `container_memory_usage_bytes{${ofPod}} 4000 ${at}`,
      `container_memory_usage_bytes{${ofMain}} 4000 ${at}`,
      `container_network_receive_bytes_total{${ofSandbox},interface="eth0"} 5 ${at}`,
      `container_network_receive_packets_total{${ofSandbox},interface="eth0"} 7 ${at}`,
      `container_oom_events_total{${ofMain}} 2 ${at}`,
      expect.stringMatching(/^container_processes{/),
      expect.stringMatching(/^container_spec_memory_swap_limit_bytes{.*id="\/"/),
      `container_spec_memory_swap_limit_bytes{${ofPods}} 0`,
      `container_spec_memory_swap_limit_bytes{${ofPod}} 0`,
      `container_spec_memory_swap_limit_bytes{${ofSandbox}} 0`,
      `container_spec_memory_swap_limit_bytes{${ofMain}} 0`,
      `container_ulimits_soft{${ofMain},ulimit="max_open_files"} 1024 ${at}`,
    ]);
    const failcntFault = 'container_memory_failcnt counter metrics should have "_total" suffix';
    expect(await promtoolFaults(page)).toEqual([...cadvisorFaults, failcntFault]);
  });

  test.each(metricsPaths)('of %s has the same families in both formats', async (path) => {
    const { metrics } = await measured();
    const text = await pageOf(metrics, path);
    const reader = new BinaryReader(Buffer.concat([...(await metrics.binaryParts(path))]));
    const families: string[] = [];
    while (reader.pos < reader.len) {
      const { name = '', type = '' } = MetricFamily.decode(reader, reader.uint32());
      families.push(`${name} ${type.toLowerCase()}`);
    }
    // It comes with the first collection of garbage.
    const others = (all: string[]): string[] => all.filter((one) => one !== 'nodejs_gc_duration_seconds histogram');
    expect(families).not.toEqual([]);
    expect(others(families)).toEqual(others([...text.matchAll(/^# TYPE (.*)$/gm)].map(([, one = '']) => one)));
  });

  test('of /metrics shows what the engine did, how its pods are, and its process', async () => {
    const { metrics } = await measured();
    const page = await pageOf(metrics, '/metrics');
    const names = [
      'kubelet_started_containers_total',
      'kubelet_pod_start_duration_seconds_count',
      'kubelet_running_',
      'kubelet_active_pods',
      'kubelet_container_log_filesystem_used_bytes',
      'kubelet_pod_worker_duration_seconds_count{operation_type="create"}',
    ];
    expect(names.flatMap((name) => seriesOf(page, name)).map((line) => line.replace(/uid="[^"]*"/, 'uid=""'))).toEqual([
      'kubelet_started_containers_total{container_type="container"} 1',
      'kubelet_pod_start_duration_seconds_count 1',
      'kubelet_running_containers{container_state="running"} 1',
      'kubelet_running_pods 1',
      'kubelet_active_pods{static="true"} 1',
      'kubelet_container_log_filesystem_used_bytes{uid="",namespace="default",pod="web-edge1",container="main"} 77',
      'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
    ]);
    expect(seriesOf(page, 'process_open_fds')).toHaveLength(1);
    expect(seriesOf(page, 'nodejs_version_info')).toHaveLength(1);
  });

  test('of /metrics shows the usage of claims as it was last measured', async () => {
    const { metrics } = await measured();
    const labels = '{namespace="default",persistentvolumeclaim="disk"}';
    expect(seriesOf(await pageOf(metrics, '/metrics'), 'kubelet_volume_stats_')).toEqual([
      `kubelet_volume_stats_available_bytes${labels} 8000`,
      `kubelet_volume_stats_capacity_bytes${labels} 9000`,
      `kubelet_volume_stats_inodes${labels} 90`,
      `kubelet_volume_stats_inodes_used${labels} 1`,
      `kubelet_volume_stats_used_bytes${labels} 1000`,
    ]);
  });

  test('of /metrics names the version of the reference, and every feature gate with its stage', async () => {
    const { metrics } = await measured();
    const page = await pageOf(metrics, '/metrics');
    expect(seriesOf(page, 'kubernetes_build_info')).toEqual([
      'kubernetes_build_info{major="1",minor="36",git_version="v1.36.3",git_commit="",git_tree_state="",build_date="",go_version="",compiler="",platform=""} 1',
    ]);
    const gates = seriesOf(page, 'kubernetes_feature_enabled');
    expect(gates).toHaveLength(Object.keys(defaultFeatureGates).length);
    expect(gates.filter((line) => /"(EventedPLEG|ImageVolume|KMSv1|PodLevelResources)"/.test(line))).toEqual([
      'kubernetes_feature_enabled{name="EventedPLEG",stage="ALPHA"} 0',
      'kubernetes_feature_enabled{name="ImageVolume",stage=""} 1',
      'kubernetes_feature_enabled{name="KMSv1",stage="DEPRECATED"} 0',
      'kubernetes_feature_enabled{name="PodLevelResources",stage="BETA"} 1',
    ]);
  });

  test('of /metrics/probes counts the runs of each probe', async () => {
    const { metrics } = await measured();
    const series = seriesOf(await pageOf(metrics, '/metrics/probes'), 'prober_probe_total');
    expect(series.map((line) => line.replace(/pod_uid="[^"]*"/, 'pod_uid=""'))).toEqual([
      'prober_probe_total{probe_type="Readiness",container="main",pod="web-edge1",namespace="default",pod_uid="",result="successful"} 1',
    ]);
  });

  test('counts a pull, an eviction and a pod that is not admitted under their causes', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const metrics = new AgentMetrics(world.clock);
    const engine = await world.boot({ sources: [source], meter: metrics.counts });
    metrics.follow(engine.kubelet);
    const emptyDir = { sizeLimit: '1Mi' };
    const mounts = [{ name: 'cache', mountPath: '/cache' }];
    const main = { name: 'main', image: 'registry.example/app:1', volumeMounts: mounts };
    const many = { name: 'many', image: 'registry.example/app:1', resources: { requests: { cpu: '1000' } } };
    source.set(
      makeStaticPod('web', { spec: { containers: [main], volumes: [{ name: 'cache', emptyDir }] } }),
      makeStaticPod('large', { spec: { containers: [many] } }),
    );
    await world.until(() => engine.isReady('web-edge1'));
    expect(seriesOf(await pageOf(metrics, '/metrics'), 'volume_manager_total_volumes')).toEqual([
      'volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="desired_state_of_world"} 1',
      'volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="actual_state_of_world"} 1',
    ]);
    const uid = engine.pod('web-edge1')?.pod.metadata.uid ?? '';
    const cache = join(world.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/cache/file');
    await writeFile(cache, Buffer.alloc(2 * 1024 * 1024));
    await world.until(() => engine.messages('Evicted').length > 0);
    const page = await pageOf(metrics, '/metrics');
    const names = [
      'kubelet_admission_rejections_total',
      'kubelet_evictions',
      'kubelet_image_pull_duration_seconds_count',
    ];
    expect(names.flatMap((name) => seriesOf(page, name))).toEqual([
      'kubelet_admission_rejections_total{reason="UnexpectedAdmissionError"} 1',
      'kubelet_evictions{eviction_signal="emptydirfs.limit"} 1',
      'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="0-10MB"} 1',
    ]);
  });

  test('counts pods that made way for others, and shows how pods are now', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const metrics = new AgentMetrics(world.clock);
    const engine = await world.boot({ sources: [source], meter: metrics.counts });
    metrics.follow(engine.kubelet);
    const podOf = (name: string, priority: number, containers = 1): Pod => {
      const resources = { requests: { cpu: '750m', memory: '10Mi' } };
      const named = Array.from({ length: containers }, (_, index) => ({
        name: `c${index}`,
        image: 'app:1',
        resources,
      }));
      return makeStaticPod(name, { uid: name, spec: { containers: named, priority } });
    };
    source.set(podOf('low', 1, 2));
    await world.until(() => engine.isReady('low-edge1'));
    source.set(podOf('low', 1, 2), podOf('high', 5));
    await world.until(() => engine.isReady('high-edge1'));
    await world.until(() => engine.pod('low-edge1')?.pod.status?.reason === 'UnexpectedAdmissionError');
    const page = await pageOf(metrics, '/metrics');
    const names = ['preemptions', 'running_pods', 'desired_pods', 'containers_per_pod_count_bucket', 'working_pods'];
    expect(names.flatMap((name) => seriesOf(page, `kubelet_${name}`))).toEqual([
      'kubelet_preemptions{preemption_signal="cpu"} 1',
      'kubelet_running_pods 1',
      'kubelet_desired_pods{static="true"} 2',
      ...['1', '2', '4', '8', '16', '+Inf'].map(
        (bound) => `kubelet_containers_per_pod_count_bucket{le="${bound}"} ${bound === '1' ? 1 : 2}`,
      ),
      'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
      'kubelet_working_pods{config="desired",lifecycle="terminating",static="true"} 0',
      'kubelet_working_pods{config="desired",lifecycle="terminated",static="true"} 0',
      ...['sync', 'terminating', 'terminated'].map(
        (lifecycle) => `kubelet_working_pods{config="orphan",lifecycle="${lifecycle}",static="true"} 0`,
      ),
      ...['sync', 'terminating', 'terminated'].map(
        (lifecycle) => `kubelet_working_pods{config="runtime_only",lifecycle="${lifecycle}",static="unknown"} 0`,
      ),
    ]);
  });

  test('counts changes of the resources of running pods, and shows those that wait', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const metrics = new AgentMetrics(world.clock);
    const engine = await world.boot({ sources: [source], meter: metrics.counts });
    metrics.follow(engine.kubelet);
    const podOf = (cpu: string, memory?: string): Pod => {
      const main = { name: 'main', image: 'app:1', resources: { requests: { cpu, ...(memory && { memory }) } } };
      return makeStaticPod('web', { uid: 'web', spec: { containers: [main] } });
    };
    source.set(podOf('200m'));
    await world.until(() => engine.isReady('web-edge1'));
    source.set(podOf('100m', '10Mi'));
    await world.until(() => engine.messages('ResizeCompleted').length === 1);
    source.set(podOf('1000', '10Mi'));
    await world.until(() => engine.messages('ResizeInfeasible').length === 1);
    await world.pass(1000);
    const page = await pageOf(metrics, '/metrics');
    expect(page.split('\n').filter((line) => /^kubelet_\w*resize\w*(?<!_bucket|_sum)[ {]/.test(line))).toEqual([
      'kubelet_container_requested_resizes_total{operation="decrease",requirement="requests",resource="cpu"} 1',
      'kubelet_container_requested_resizes_total{operation="add",requirement="requests",resource="memory"} 1',
      'kubelet_pod_infeasible_resizes_total{reason_detail="insufficient_node_allocatable"} 1',
      'kubelet_pod_resize_duration_milliseconds_count{success="true"} 1',
      'kubelet_pod_in_progress_resizes 0',
      'kubelet_pod_pending_resizes{reason="infeasible"} 1',
    ]);
  });

  test('shows how many pods are declared and active, and how many pods of each kind have a worker', async () => {
    const world = await World.make();
    const earlier = new ManualSource();
    const first = await world.boot({ sources: [earlier] });
    earlier.set(makeStaticPod('left'));
    await world.until(() => first.isReady('left-edge1'));
    await first.kill();
    const source = new ManualSource();
    const metrics = new AgentMetrics(world.clock);
    const engine = await world.boot({ sources: [source], meter: metrics.counts, prunes: true });
    metrics.follow(engine.kubelet);
    const goOn = world.runtime.hang('stopContainer');
    const many = { name: 'main', image: 'app:1', resources: { requests: { cpu: '1000' } } };
    const kept = [
      makeStaticPod('web'),
      makeStaticPod('halted'),
      makeStaticPod('large', { spec: { containers: [many] } }),
    ];
    source.set(...kept, makeStaticPod('gone'));
    await world.until(() => ['web-edge1', 'halted-edge1', 'gone-edge1'].every((name) => engine.isReady(name)));
    source.set(...kept);
    const stopped = engine.kubelet.operate({ action: 'stop', pod: { namespace: 'default', name: 'halted-edge1' } });
    const series = async (): Promise<string[]> => {
      const page = await pageOf(metrics, '/metrics');
      const names = ['desired_pods', 'active_pods', 'working_pods'];
      return names.flatMap((name) => seriesOf(page, `kubelet_${name}`)).filter((line) => !line.endsWith(' 0'));
    };
    await world.until(() => world.runtime.requestsOf('stopContainer').length === 3);
    const during = await series();
    goOn();
    await stopped;
    await world.until(() => engine.pod('gone-edge1') === undefined);
    await world.until(async () => (await world.inventory()).every((line) => !line.startsWith('left-edge1')));
    expect({ during, after: await series() }).toEqual({
      during: [
        'kubelet_desired_pods{static="true"} 3',
        'kubelet_active_pods{static="true"} 2',
        'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
        'kubelet_working_pods{config="desired",lifecycle="terminating",static="true"} 1',
        'kubelet_working_pods{config="orphan",lifecycle="terminating",static="true"} 1',
        'kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 1',
      ],
      after: [
        'kubelet_desired_pods{static="true"} 3',
        'kubelet_active_pods{static="true"} 1',
        'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
        'kubelet_working_pods{config="desired",lifecycle="terminated",static="true"} 1',
      ],
    });
  });

  test('asks for figures that are at most a second old, and only then are pods measured', async () => {
    const { world, metrics } = await measured();
    const asked: unknown[] = [];
    world.stats.instead = (request) => {
      // That of eviction, which measures the node, can be aborted.
      if (request.signal === undefined) asked.push(request);
      return Promise.reject(new Error('no usage'));
    };
    await world.pass(60_000);
    await pageOf(metrics, '/metrics/resource');
    await pageOf(metrics, '/metrics/cadvisor');
    expect(asked).toEqual([
      { maxAgeMs: 1000, cpuAndMemoryOnly: true },
      { maxAgeMs: 1000, cpuAndMemoryOnly: false },
    ]);
  });

  test('counts registrations of device plugins, and pods that got devices or were refused', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const metrics = new AgentMetrics(world.clock);
    const plugins = new DirectPlugins(world.clock);
    source.set();
    const engine = await world.boot({ sources: [source], meter: metrics.counts, plugins });
    await world.until(() => plugins.isServed);
    await plugins.register('a.example/dev', goodPlugin(healthy('d0')));
    await world.pass(200);
    const resources = { limits: { 'a.example/dev': '1' } };
    const podOf = (name: string): Pod =>
      makeStaticPod(name, { spec: { containers: [{ name: 'main', image: 'app:1', resources }] } });
    source.set(podOf('web'));
    await world.until(() => engine.isReady('web-edge1'));
    source.set(podOf('web'), podOf('late'));
    await world.until(() => engine.phase('late-edge1') === 'Failed');
    const page = await pageOf(metrics, '/metrics');
    const names = [
      'kubelet_device_plugin_registration_total',
      'kubelet_device_plugin_alloc_duration_seconds_count',
      'kubelet_topology_manager_admission_requests_total',
      'kubelet_topology_manager_admission_errors_total',
      'kubelet_topology_manager_admission_duration_ms_count',
    ];
    expect(names.flatMap((name) => seriesOf(page, name))).toEqual([
      'kubelet_device_plugin_registration_total{resource_name="a.example/dev"} 1',
      'kubelet_device_plugin_alloc_duration_seconds_count{resource_name="a.example/dev"} 1',
      'kubelet_topology_manager_admission_requests_total 2',
      'kubelet_topology_manager_admission_errors_total 1',
      'kubelet_topology_manager_admission_duration_ms_count 2',
    ]);
  });

  test.each(['/metrics/resource', '/metrics/probes'] as const)('of %s is valid for promtool', async (path) => {
    const { metrics } = await measured();
    expect(await promtoolFaults(await pageOf(metrics, path))).toEqual([]);
  });

  test.each([
    [
      '/metrics',
      [
        'kubelet_cpu_manager_exclusive_cpu_allocation_count non-histogram and non-summary metrics should not have "_count" suffix',
        'kubelet_evented_pleg_connection_error_count counter metrics should have "_total" suffix',
        'kubelet_evented_pleg_connection_error_count non-histogram and non-summary metrics should not have "_count" suffix',
        'kubelet_evented_pleg_connection_success_count counter metrics should have "_total" suffix',
        'kubelet_evented_pleg_connection_success_count non-histogram and non-summary metrics should not have "_count" suffix',
        'kubelet_topology_manager_admission_duration_ms metric names should not contain abbreviated units',
      ],
    ],
    ['/metrics/cadvisor', cadvisorFaults],
  ] as const)("of %s is valid for promtool, except for the kubelet's own names", async (path, faults) => {
    const { metrics } = await measured();
    expect(await promtoolFaults(await pageOf(metrics, path))).toEqual(faults);
  });
});
