/** Calls whose name in the metrics is not their own in snake case. kubelet: kuberuntime/instrumented_services.go */
const ownNames: Readonly<Record<string, string>> = {
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

/** Label `operation_type` of a call to the runtime, such as `create_container`. */
export function operationType(method: string): string {
  return ownNames[method] ?? method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
