import type { Container, Pod } from '../../../api/types.ts';
import { restartsAfterExit } from '../../../api/values/restart-rules.ts';
import { findContainerStatus, type RuntimePodStatus } from '../../container/runtime-pod-status.ts';

/**
 * True if a container that is not running must be started, by its newest instance and its restart policy. kubelet:
 * container/helpers.go ShouldContainerBeRestarted
 */
export function shouldContainerBeRestarted(container: Container, pod: Pod, podStatus: RuntimePodStatus): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;

  const status = findContainerStatus(podStatus, container.name);
  if (!status) return true;
  switch (status.state) {
    case 'created':
    case 'unknown':
      return true;
    case 'running':
      return false;
    case 'exited':
      return restartsAfterExit(container, pod.spec, status.exitCode);
  }
}
