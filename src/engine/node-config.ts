import type { ResourceList } from '../api/types.ts';
import type { CgroupSettings } from './container-manager/cgroup-settings.ts';
import type { ImageSettings } from './images/image-manager.ts';
import type { ContainerNode } from './kuberuntime/request/generate-container-config.ts';
import type { RuntimeSettings } from './kuberuntime/request/runtime-settings.ts';
import type { ShutdownSettings } from './lifecycle/node-shutdown-groups.ts';
import type { SysctlAllowlist } from './lifecycle/sysctl-allowlist.ts';

/** What the engine knows of the machine and was told by flags. Fixed while it runs. */
export interface NodeConfig extends CgroupSettings, RuntimeSettings {
  /** Lower case, as pod names end in it. */
  nodeName: string;
  /** kubelet: --root-dir */
  rootDir: string;
  /** How often a pod that does not change is looked at. Milliseconds. kubelet: syncFrequency */
  syncFrequencyMs: number;
  /** Longest wait before a container is restarted. Milliseconds. kubelet: crashLoopBackOff.maxContainerRestartPeriod */
  maxContainerRestartPeriodMs: number;
  images: ImageSettings;
  /** The time that pods have when the node shuts down. */
  shutdown: ShutdownSettings;
  /** Limits of local storage are enforced. */
  localStorageCapacityIsolation: boolean;
  /** What the node has. kubelet: node.status.capacity */
  capacity: ResourceList;
  /** kubelet: node.metadata.labels */
  labels: Readonly<Record<string, string>>;
  /** Sysctls that pods may set. */
  allowedSysctls: SysctlAllowlist;
  appArmorEnabled: boolean;
  containerNode: ContainerNode;
}
