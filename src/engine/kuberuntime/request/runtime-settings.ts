import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import type { ResourceList } from '../../../api/types.ts';
import type { CgroupDriver } from '../../container-manager/cgroup-names.ts';
import type { ContainerNode } from './generate-container-config.ts';

/** The part of the node's configuration that requests to the runtime depend on. */
export interface RuntimeSettings {
  /** Addresses of the node, primary first. */
  nodeIPs: readonly string[];
  /** kubelet: podLogsDir */
  podLogsDir: string;
  /** Folder of links to container logs. */
  containerLogLinksDir: string;
  /** Path of the node's resolver file; empty if there is none. kubelet: resolvConf */
  resolvConf: string;
  clusterDNS: readonly string[];
  clusterDomain: string;
  cgroupDriver: CgroupDriver;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  featureGates: FeatureGates;
  selinuxEnabled: boolean;
  /**
   * What pods may use, by resource name, as admission counts it and as the downward API shows it where a container sets no
   * limit. kubelet: node.status.allocatable
   */
  allocatable: ResourceList;
  /** What containers of this node are made with. */
  containerNode: ContainerNode;
}
