import type { FeatureGates } from '../api/kubelet-configuration/feature-gates.ts';
import type { ResourceList } from '../api/types.ts';
import type { CgroupDriver } from './container-manager/cgroup-names.ts';
import type { NodeAllocatableSettings } from './container-manager/node-allocatable.ts';
import type { ImageSettings } from './images/image-settings.ts';
import type { ContainerNode } from './kuberuntime/generate-container-config.ts';
import type { ShutdownSettings } from './lifecycle/node-shutdown-groups.ts';
import type { SysctlAllowlist } from './lifecycle/sysctl-allowlist.ts';

/** What the engine knows of the machine and was told by flags. Fixed while it runs. */
export interface NodeConfig {
  /** Lower case, as pod names end in it. */
  nodeName: string;
  /** Addresses of the node, primary first. */
  nodeIPs: readonly string[];
  /** kubelet: --root-dir */
  rootDir: string;
  /** kubelet: podLogsDir */
  podLogsDir: string;
  /** Folder of links to container logs. */
  containerLogLinksDir: string;
  /** Path of the node's resolver file; empty: none. kubelet: resolvConf */
  resolvConf: string;
  clusterDNS: readonly string[];
  clusterDomain: string;
  cgroupDriver: CgroupDriver;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  nodeAllocatable: NodeAllocatableSettings;
  /** Processes a pod may have; none if it is not positive. */
  podPidsLimit: number;
  /** How often a pod that does not change is looked at. Milliseconds. kubelet: syncFrequency */
  syncFrequencyMs: number;
  /** Longest wait before a container is restarted. Milliseconds. kubelet: crashLoopBackOff.maxContainerRestartPeriod */
  maxContainerRestartPeriodMs: number;
  images: ImageSettings;
  /** The time that pods have when the node shuts down. */
  shutdown: ShutdownSettings;
  /** Limits of local storage are enforced. */
  localStorageCapacityIsolation: boolean;
  featureGates: FeatureGates;
  selinuxEnabled: boolean;
  /** What the node has. kubelet: node.status.capacity */
  capacity: ResourceList;
  /**
   * What pods may use, by resource name, as admission counts it and as the downward API shows it where a container sets no
   * limit. kubelet: node.status.allocatable
   */
  allocatable: ResourceList;
  /** kubelet: node.metadata.labels */
  labels: Readonly<Record<string, string>>;
  /** Sysctls that pods may set. */
  allowedSysctls: SysctlAllowlist;
  appArmorEnabled: boolean;
  /** What containers of this node are made with. */
  containerNode: ContainerNode;
}
