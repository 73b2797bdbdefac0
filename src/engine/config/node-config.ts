import type { ResourceList } from '../../api/types.ts';
import type { RuntimeClass } from '../../api/values/node-class.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import type { CgroupSettings } from '../container-manager/cgroup-settings.ts';
import type { ContainerGCPolicy } from '../gc/container-gc.ts';
import type { EvictionConfig } from '../eviction/eviction-config.ts';
import type { ImageSettings } from '../images/image-manager.ts';
import type { ContainerNode } from '../kuberuntime/request/generate-container-config.ts';
import type { RuntimeSettings } from '../kuberuntime/request/runtime-settings.ts';
import type { ContainerLogSettings } from '../logs/container-log-manager.ts';
import type { ShutdownSettings } from '../lifecycle/node-shutdown-groups.ts';
import type { SysctlAllowlist } from '../lifecycle/sysctl-allowlist.ts';
import type { UserNamespaceIDs } from '../userns/user-namespaces.ts';

/** The engine's settings from flags and from the machine. Fixed while it runs, except `nodeIPs`. */
export interface NodeConfig extends CgroupSettings, RuntimeSettings {
  /** Lower case, because pod names end in it. */
  nodeName: string;
  /** kubelet: --root-dir */
  rootDir: string;
  /** Period between syncs of an unchanged pod, in milliseconds. kubelet: syncFrequency */
  syncFrequencyMs: number;
  /** Longest wait before a container restarts, in milliseconds. kubelet: crashLoopBackOff.maxContainerRestartPeriod */
  maxContainerRestartPeriodMs: number;
  images: ImageSettings;
  /** Which exited containers are kept. */
  containerGC: ContainerGCPolicy;
  containerLogs: ContainerLogSettings;
  /** Time for pods to stop when the node shuts down. */
  shutdown: ShutdownSettings;
  eviction: EvictionConfig;
  /** If true, memory near an eviction threshold is read more often. */
  kernelMemcgNotification: boolean;
  /** True if limits of local storage are enforced. */
  localStorageCapacityIsolation: boolean;
  /**
   * Shortest time between two measurements of a pod's volumes. Zero or negative: never measured. kubelet:
   * volumeStatsAggPeriod
   */
  volumeStatsAggPeriodMs: number;
  inPlace: InPlacePolicy;
  /** RuntimeClasses in addition to those that manifests declare. */
  runtimeClasses: readonly RuntimeClass[];
  /** Capacity of the node. kubelet: node.status.capacity */
  capacity: ResourceList;
  /** kubelet: node.metadata.labels */
  labels: Readonly<Record<string, string>>;
  /** Sysctls that pods may set. */
  allowedSysctls: SysctlAllowlist;
  appArmorEnabled: boolean;
  containerNode: ContainerNode;
  userNamespaceIDs: UserNamespaceIDs;
}
