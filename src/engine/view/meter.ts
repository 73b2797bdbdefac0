/** Receives measurements that no event or snapshot has. No method may throw. */
export interface Meter extends Counter {
  /** The pods and containers of the runtime were listed. */
  relisted(durationMs: number): void;
  probed(run: ProbeRun): void;
  /** A container is about to be created. */
  containerStarting(type: ContainerType): void;
  /** `code` is its waiting reason, such as `CreateContainerError`. */
  containerNotStarted(type: ContainerType, code: string): void;
}

/** Counts and measures with the names and labels of the kubelet's metrics. */
export interface Counter {
  /** Adds one to a counter. */
  count<Name extends keyof CounterLabels>(name: Name, labels: LabelsOf<CounterLabels[Name]>): void;
  /** Adds a value to a histogram, in the unit of its name. */
  observe<Name extends keyof HistogramLabels>(
    name: Name,
    duration: number,
    labels: LabelsOf<HistogramLabels[Name]>,
  ): void;
  /** Sets a gauge. */
  set(name: GaugeName, value: number): void;
  /** Sets one series of a gauge with labels. */
  setSeries<Name extends keyof GaugeLabels>(name: Name, value: number, labels: LabelsOf<GaugeLabels[Name]>): void;
}

type LabelsOf<Name extends string> = Readonly<Record<Name, string>>;

/** Labels of the counters; `never` if there are none. kubelet: metrics/metrics.go */
export interface CounterLabels {
  kubelet_admission_rejections_total: 'reason';
  kubelet_container_aligned_compute_resources_count: 'boundary' | 'scope';
  kubelet_container_aligned_compute_resources_failure_count: 'boundary' | 'scope';
  kubelet_container_requested_resizes_total: 'operation' | 'requirement' | 'resource';
  kubelet_cpu_manager_pinning_errors_total: never;
  kubelet_cpu_manager_pinning_requests_total: never;
  kubelet_credential_provider_plugin_errors_total: 'plugin_name';
  kubelet_device_plugin_registration_total: 'resource_name';
  kubelet_evented_pleg_connection_error_count: never;
  kubelet_evented_pleg_connection_success_count: never;
  kubelet_evictions: 'eviction_signal';
  kubelet_image_garbage_collected_total: 'reason';
  kubelet_image_manager_ensure_image_requests_total: 'present_locally' | 'pull_policy' | 'pull_required';
  kubelet_imagemanager_image_mustpull_checks_total: 'result';
  kubelet_image_volume_mounted_errors_total: never;
  kubelet_image_volume_mounted_succeed_total: never;
  kubelet_image_volume_requested_total: never;
  kubelet_lifecycle_handler_http_fallbacks_total: never;
  kubelet_memory_manager_pinning_errors_total: never;
  kubelet_memory_manager_pinning_requests_total: never;
  kubelet_orphaned_runtime_pods_total: never;
  kubelet_pod_infeasible_resizes_total: 'reason_detail';
  kubelet_preemptions: 'preemption_signal';
  kubelet_restarted_pods_total: 'static';
  kubelet_sleep_action_terminated_early_total: never;
  kubelet_topology_manager_admission_errors_total: never;
  kubelet_topology_manager_admission_requests_total: never;
}

/** Labels of the histograms. */
export interface HistogramLabels {
  kubelet_cgroup_manager_duration_seconds: 'operation_type';
  kubelet_credential_provider_plugin_duration_seconds: 'plugin_name';
  kubelet_device_plugin_alloc_duration_seconds: 'resource_name';
  kubelet_eviction_stats_age_seconds: 'eviction_signal';
  kubelet_image_pull_duration_seconds: 'image_size_in_bytes';
  kubelet_pod_resize_duration_milliseconds: 'success';
  kubelet_topology_manager_admission_duration_ms: never;
  kubelet_volume_metric_collection_duration_seconds: 'metric_source';
  storage_operation_duration_seconds: 'migrated' | 'operation_name' | 'status' | 'volume_plugin';
  volume_operation_total_seconds: 'operation_name' | 'plugin_name';
}

/** Labels of the gauges that have some. */
export interface GaugeLabels {
  kubelet_cpu_manager_allocation_per_numa: 'numa_node';
  kubelet_credential_provider_config_info: 'hash';
}

export type GaugeName =
  | 'kubelet_cgroup_version'
  | 'kubelet_cpu_manager_exclusive_cpu_allocation_count'
  | 'kubelet_cpu_manager_shared_pool_size_millicores'
  | 'kubelet_graceful_shutdown_end_time_seconds'
  | 'kubelet_graceful_shutdown_start_time_seconds'
  | 'kubelet_imagemanager_ondisk_pulledrecords'
  | 'kubelet_imagemanager_ondisk_pullintents'
  | 'kubelet_memory_qos_node_memory_low_bytes'
  | 'kubelet_memory_qos_node_memory_min_bytes'
  | 'kubelet_orphan_pod_cleaned_volumes'
  | 'kubelet_orphan_pod_cleaned_volumes_errors';

/** kubelet: metrics/metrics.go Container, InitContainer */
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** One run of a probe, with its retries. */
export interface ProbeRun {
  podUID: string;
  pod: string;
  namespace: string;
  container: string;
  /** Such as `Liveness`. */
  probeType: string;
  /** kubelet: prober/prober_manager.go ProberResults */
  result: 'successful' | 'failed' | 'unknown';
  durationMs: number;
}
