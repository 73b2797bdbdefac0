import type { ConfigObject } from '../../api/values/config-object.ts';
import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { RuntimePodStatus } from '../../engine/container/runtime-pod-status.ts';

/** What a node holds now. */
export interface CurrentNode {
  pods: CurrentPod[];
  /** As the manifests that were read last declare them. */
  configObjects: ConfigObject[];
}

export interface CurrentPod {
  /** With `status` it has no more than the names and images of its containers: nobody knows the manifest it was made from. */
  pod: Pod;
  status?: RuntimePodStatus;
  /** A pod of a URL that was not asked stays whatever files declare. */
  source: SourceName;
  /** Path or URL of its manifest, which its UID is made from too; undefined when it is not known. */
  origin?: string;
}

/** What a node is to hold. */
export interface DesiredNode {
  pods: readonly Pod[];
  configObjects: readonly ConfigObject[];
  /** The URLs that were asked, as they are shown. What others declare stays. */
  urls: readonly string[];
  /** The UID that a pod would have if its manifest stood at this path or URL. */
  uidUnder: (pod: Pod, origin: string) => string | undefined;
}
