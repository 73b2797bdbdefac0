import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import type { ResourceList } from '../../../api/types.ts';
import type { CgroupDriver } from '../../container-manager/cgroup-names.ts';
import type { ContainerNode } from './generate-container-config.ts';

/** The node settings that requests to the runtime depend on. */
export interface RuntimeSettings {
  /** Returns the current addresses of the node, primary first. Never empty. */
  nodeIPs: () => readonly string[];
  /** kubelet: podLogsDir */
  podLogsDir: string;
  /** Folder of links to container logs. */
  containerLogLinksDir: string;
  /** Path of the node's resolver file. Empty if there is none. kubelet: resolvConf */
  resolvConf: string;
  clusterDNS: readonly string[];
  clusterDomain: string;
  cgroupDriver: CgroupDriver;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  featureGates: FeatureGates;
  selinuxEnabled: boolean;
  /**
   * Resources that pods may use, by name, for admission and for the downward API of containers without a limit.
   * kubelet: node.status.allocatable
   */
  allocatable: ResourceList;
  /** Settings of the node for its containers. */
  containerNode: ContainerNode;
}
