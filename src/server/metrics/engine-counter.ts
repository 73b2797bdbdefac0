import type { Counter, CounterLabels, GaugeLabels, GaugeName, HistogramLabels } from '../../engine/view/meter.ts';
import type { Family, Sample } from './family.ts';
import { Distribution, exponentialBuckets, Tally, usualBuckets } from './tally.ts';

/** Help text of each counter. kubelet: metrics/metrics.go */
const counters: Readonly<Record<keyof CounterLabels, string>> = {
  kubelet_admission_rejections_total: 'Cumulative number pod admission rejections by the Kubelet.',
  kubelet_container_aligned_compute_resources_count:
    'Cumulative number of containers and pods whose resources were aligned to the boundary.',
  kubelet_container_aligned_compute_resources_failure_count:
    'Cumulative number of containers and pods whose resources could not be aligned to the boundary.',
  kubelet_container_requested_resizes_total: 'Number of changes of cpu and memory of running containers.',
  kubelet_cpu_manager_pinning_errors_total: 'The number of cpu core allocations which required pinning failed.',
  kubelet_cpu_manager_pinning_requests_total: 'The number of cpu core allocations which required pinning.',
  kubelet_credential_provider_plugin_errors_total: 'Number of errors from credential provider plugin',
  kubelet_device_plugin_registration_total:
    'Cumulative number of device plugin registrations. Broken down by resource name.',
  kubelet_evented_pleg_connection_error_count:
    'The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
  kubelet_evented_pleg_connection_success_count:
    'The number of times a streaming client was obtained to receive CRI Events.',
  kubelet_evictions: 'Cumulative number of pod evictions by eviction signal',
  kubelet_image_garbage_collected_total:
    'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  kubelet_image_manager_ensure_image_requests_total:
    'Number of requests for the image of a container, by pull policy, and whether it was present and had to be pulled.',
  kubelet_imagemanager_image_mustpull_checks_total:
    'Counter of how many times kubelet checked whether credentials need to be re-verified to access an image',
  kubelet_image_volume_mounted_errors_total: 'Number of image volumes that could not be mounted.',
  kubelet_image_volume_mounted_succeed_total: 'Number of image volumes that were mounted.',
  kubelet_image_volume_requested_total: 'Number of image volumes that were requested.',
  kubelet_lifecycle_handler_http_fallbacks_total:
    'The number of times lifecycle handlers successfully fell back to http from https.',
  kubelet_memory_manager_pinning_errors_total:
    'The number of memory pages allocations which required pinning that failed.',
  kubelet_memory_manager_pinning_requests_total: 'The number of memory pages allocations which required pinning.',
  kubelet_orphaned_runtime_pods_total:
    'Number of pods that have been detected in the container runtime without being already known to the pod worker. ' +
    'This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local ' +
    'configuration, which is unusual.',
  kubelet_pod_infeasible_resizes_total: 'Number of resizes that this node can never make.',
  kubelet_preemptions: 'Cumulative number of pod preemptions by preemption resource',
  kubelet_restarted_pods_total:
    'Number of pods that have been restarted because they were deleted and recreated with the same UID while the ' +
    'kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  kubelet_sleep_action_terminated_early_total:
    'The number of times lifecycle sleep handler got terminated before it finishes',
  kubelet_topology_manager_admission_errors_total:
    'The number of admission request failures where resources could not be aligned.',
  kubelet_topology_manager_admission_requests_total:
    'The number of admission requests where resources have to be aligned.',
};

/** Counters with labels. They have no series before their first event. */
const labelled: ReadonlySet<string> = new Set<keyof CounterLabels>([
  'kubelet_admission_rejections_total',
  'kubelet_container_aligned_compute_resources_count',
  'kubelet_container_aligned_compute_resources_failure_count',
  'kubelet_container_requested_resizes_total',
  'kubelet_credential_provider_plugin_errors_total',
  'kubelet_device_plugin_registration_total',
  'kubelet_evictions',
  'kubelet_image_garbage_collected_total',
  'kubelet_image_manager_ensure_image_requests_total',
  'kubelet_imagemanager_image_mustpull_checks_total',
  'kubelet_pod_infeasible_resizes_total',
  'kubelet_preemptions',
  'kubelet_restarted_pods_total',
]);

const beta: ReadonlySet<string> = new Set<keyof CounterLabels>([
  'kubelet_image_volume_mounted_errors_total',
  'kubelet_image_volume_mounted_succeed_total',
  'kubelet_image_volume_requested_total',
]);

const histograms: Readonly<Record<keyof HistogramLabels, { help: string; bounds: number[]; plain?: true }>> = {
  kubelet_cgroup_manager_duration_seconds: {
    help: 'Duration in seconds for cgroup manager operations. Broken down by method.',
    bounds: usualBuckets,
  },
  kubelet_credential_provider_plugin_duration_seconds: {
    help: 'Duration of execution in seconds for credential provider plugin',
    bounds: usualBuckets,
  },
  kubelet_device_plugin_alloc_duration_seconds: {
    help: 'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
    bounds: usualBuckets,
  },
  kubelet_eviction_stats_age_seconds: {
    help: 'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
    bounds: usualBuckets,
  },
  kubelet_image_pull_duration_seconds: {
    help: 'Duration in seconds to pull an image.',
    bounds: [1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 2700, 3600],
  },
  kubelet_pod_resize_duration_milliseconds: {
    help: 'Duration in milliseconds to change the resources of a running pod.',
    bounds: exponentialBuckets(10, 2, 12),
  },
  kubelet_topology_manager_admission_duration_ms: {
    help: 'Duration in milliseconds to serve a pod admission request.',
    bounds: exponentialBuckets(0.05, 2, 15),
    plain: true,
  },
  kubelet_volume_metric_collection_duration_seconds: {
    help: 'Duration in seconds to calculate volume stats',
    bounds: usualBuckets,
  },
  storage_operation_duration_seconds: {
    help: 'Storage operation duration',
    bounds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  },
  volume_operation_total_seconds: {
    help: 'Storage operation end to end duration in seconds',
    bounds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  },
};

const labelledGauges: Readonly<Record<keyof GaugeLabels, string>> = {
  kubelet_cpu_manager_allocation_per_numa: 'Number of CPUs allocated per NUMA node',
  kubelet_credential_provider_config_info:
    'Information about the last applied credential provider configuration with hash as label',
};

const gauges: Readonly<Record<GaugeName, string>> = {
  kubelet_cgroup_version: 'cgroup version on the hosts.',
  kubelet_cpu_manager_exclusive_cpu_allocation_count:
    'The total number of CPUs exclusively allocated to containers running on this node',
  kubelet_cpu_manager_shared_pool_size_millicores:
    'The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
  kubelet_graceful_shutdown_end_time_seconds: 'Last graceful shutdown end time since unix epoch in seconds',
  kubelet_graceful_shutdown_start_time_seconds: 'Last graceful shutdown start time since unix epoch in seconds',
  kubelet_imagemanager_ondisk_pulledrecords: 'Number of ImagePulledRecords stored on disk.',
  kubelet_imagemanager_ondisk_pullintents: 'Number of ImagePullIntents stored on disk.',
  kubelet_memory_qos_node_memory_low_bytes: 'Memory that MemoryQoS asks the kernel to reclaim last, in bytes.',
  kubelet_memory_qos_node_memory_min_bytes: 'Memory that MemoryQoS keeps for pods, in bytes.',
  kubelet_orphan_pod_cleaned_volumes:
    'The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
  kubelet_orphan_pod_cleaned_volumes_errors:
    'The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
};

/** Counts, durations and values that parts of the engine report by name, since the agent started. */
export class EngineCounter implements Counter {
  private readonly tallies = new Map<string, Tally>();
  private readonly distributions = new Map<string, Distribution>();
  private readonly values = new Map<string, number>();

  constructor() {
    for (const name of Object.keys(labelledGauges)) this.tallies.set(name, new Tally());
    for (const name of Object.keys(counters)) this.tallies.set(name, new Tally({ plain: !labelled.has(name) }));
    for (const [name, row] of Object.entries(histograms)) {
      this.distributions.set(name, new Distribution(row.bounds, { plain: row.plain === true }));
    }
    // The kubelet adds 0 with each clean-up.
    this.tallies.get('kubelet_restarted_pods_total')?.add({ static: 'true' }, 0);
  }

  count(name: keyof CounterLabels, labels: Sample['labels']): void {
    this.tallies.get(name)?.add(labels);
  }

  observe(name: keyof HistogramLabels, duration: number, labels: Sample['labels']): void {
    this.distributions.get(name)?.observe(duration, labels);
  }

  set(name: GaugeName, value: number): void {
    this.values.set(name, value);
  }

  setSeries(name: keyof GaugeLabels, value: number, labels: Sample['labels']): void {
    this.tallies.get(name)?.set(labels, value);
  }

  families(): Family[] {
    const family = (name: string, type: Family['type'], help: string, samples: Sample[] = []): Family => ({
      name,
      type,
      help: `[${beta.has(name) ? 'BETA' : 'ALPHA'}] ${help}`,
      samples,
    });
    return [
      ...Object.entries(counters).map(([name, help]) =>
        family(name, 'counter', help, this.tallies.get(name)?.samples()),
      ),
      ...Object.entries(histograms).map(([name, { help }]) =>
        family(name, 'histogram', help, this.distributions.get(name)?.samples(name)),
      ),
      ...Object.entries(labelledGauges).map(([name, help]) =>
        family(name, 'gauge', help, this.tallies.get(name)?.samples()),
      ),
      ...Object.entries(gauges).map(([name, help]) =>
        family(name, 'gauge', help, [{ labels: {}, value: this.values.get(name) ?? 0 }]),
      ),
    ];
  }
}
