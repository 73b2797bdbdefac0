import type { ConfigObject } from '../../api/values/config-object.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import type { Pod } from '../../api/types.ts';
import type { DeclaredWorkload } from '../../api/values/workload.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { KeptRevision, UpdateGates } from '../../engine/operations/compute-revision.ts';
import type { UndeclaredState } from '../../engine/gc/undeclared-records.ts';
import type { PodRecord } from '../../engine/operations/pod-record.ts';
import type { RuntimePodStatus } from '../../engine/container/runtime-pod-status.ts';

/** The current state of a node. */
export interface CurrentNode {
  pods: CurrentPod[];
  /** ConfigMaps and Secrets of the manifests as last read. */
  configObjects: ConfigObject[];
  inPlace: InPlacePolicy;
  /** Requests of operators, by full name of the pod. */
  records: ReadonlyMap<string, PodRecord>;
}

export interface CurrentPod {
  /** With `status`, only the names and images of its containers are known, because its manifest is not. */
  pod: Pod;
  status?: RuntimePodStatus;
  /** Source of the pod. A pod from a URL that was not fetched stays. */
  source: SourceName;
  /** Path or URL of its manifest, from which its UID is derived; undefined if unknown. */
  origin?: string;
  /** What it does while no agent runs, so that the next start decides what happens to it. Absent if one runs. */
  left?: 'running' | 'ended';
  /** What was decided about it after its manifest was removed. Absent if nothing was. */
  undeclared?: UndeclaredState;
}

/** The desired state of a node. */
export interface DesiredNode {
  pods: readonly Pod[];
  /** The workloads of the manifests. Absent if they have none. */
  workloads?: readonly DeclaredWorkload[];
  configObjects: readonly ConfigObject[];
  /** True if the manifests are deliberately an empty list, so that no pod is kept. Absent if not. */
  declaresNothing?: boolean;
  /** The fetched URLs, without secrets. Pods of other URLs stay. */
  urls: readonly string[];
  /** UIDs derived from manifests that set no UID. Absent if every manifest sets one. */
  derivedUIDs?: readonly string[];
  /** The UID that a pod would have if its manifest were at this path or URL. */
  uidUnder: (pod: Pod, origin: string) => string | undefined;
  /** Why pods of workloads keep the revision that they run, by their full names. */
  rollOuts: ReadonlyMap<string, KeptRevision>;
  /** Why pods may run that only an update of a workload adds, by their full names. */
  extraPods: ReadonlyMap<string, string>;
  /** The update windows and lock files that currently prevent new revisions. Absent if they do not count. */
  updateGates?: (pod: Pod) => UpdateGates;
}
