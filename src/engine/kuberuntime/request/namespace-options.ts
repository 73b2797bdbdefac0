import type { Pod } from '../../../api/types.ts';
import type { PodSandboxConfig } from '../../../cri/types.ts';
import { UserError } from '../../../errors.ts';
import type { UserNamespace } from '../../userns/user-namespaces.ts';

type SecurityContext = NonNullable<NonNullable<PodSandboxConfig['linux']>['securityContext']>;
export type NamespaceOption = NonNullable<SecurityContext['namespaceOptions']>;

/**
 * Namespaces that the pod shares with the node. Without an allocated `userNamespace`, user namespaces are disabled.
 * kubelet: kuberuntime/util/util.go NamespacesForPod
 */
export function namespacesForPod({ spec }: Pod, userNamespace?: UserNamespace): NamespaceOption {
  if (spec.hostUsers !== undefined && !userNamespace) {
    throw new UserError('spec.hostUsers: user namespaces are not enabled', { hint: 'Remove spec.hostUsers.' });
  }
  return {
    network: spec.hostNetwork ? 'NODE' : 'POD',
    ipc: spec.hostIPC ? 'NODE' : 'POD',
    pid: pidNamespace(spec),
    ...(userNamespace && { usernsOptions: userNamespace }),
  };
}

/**
 * Namespaces of one container. `targetID` is the container whose processes it sees, unless the pod shares its process
 * namespace. kubelet: kuberuntime_container_linux.go generateLinuxContainerConfig
 */
export function namespacesForContainer(pod: Pod, userNamespace?: UserNamespace, targetID?: string): NamespaceOption {
  const namespaces = namespacesForPod(pod, userNamespace);
  if (targetID === undefined || namespaces.pid !== 'CONTAINER') return namespaces;
  return { ...namespaces, pid: 'TARGET', targetId: targetID };
}

function pidNamespace({ hostPID, shareProcessNamespace }: Pod['spec']): 'NODE' | 'POD' | 'CONTAINER' {
  if (hostPID) return 'NODE';
  return shareProcessNamespace ? 'POD' : 'CONTAINER';
}
