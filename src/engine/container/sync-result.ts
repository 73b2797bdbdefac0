/** One step that a sync took. kubelet: container/sync_result.go SyncResult */
export interface SyncResult {
  action:
    | 'killPod'
    | 'killContainer'
    | 'resetContainer'
    | 'createPodSandbox'
    | 'configPodSandbox'
    | 'startContainer'
    | 'resizePod';
  /** Pod or container name. */
  target: string;
  error?: unknown;
  /** Waiting reason of a container that did not start. */
  reason?: string;
  message?: string;
}
