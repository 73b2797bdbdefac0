import type { PersistentVolumeClaim } from '../../api/values/persistent-volume.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import type { WantedPod } from '../config/wanted-pods.ts';
import type { WorkloadStatus } from '../view/snapshot.ts';
import type { WorkloadRecord } from './records/workload-record.ts';

/**
 * What a workload wants now. One pure function per family of kinds returns it: `computeReplicas` for those that keep
 * pods running. `Workloads` calls it again whenever the manifest, a pod's status or an operator's request changes, and
 * at `nextCheckAt`. So a decision must follow from its inputs only, and repeating it must change nothing.
 */
export interface WorkloadDecision {
  /** The pods to declare now. Those of the last decision that are missing here are stopped and removed. */
  pods: readonly WantedPod[];
  /** Pods whose names another source declares. Their list reports the conflict. Absent if there are none. */
  taken?: readonly WantedPod[];
  /** Pods that wait until the earlier revision has stopped. Absent if none wait. */
  recreated?: readonly PodName[];
  /** Claims of these pods that the manifest does not declare itself. Absent if there are none. */
  claims?: readonly PersistentVolumeClaim[];
  status: WorkloadStatus;
  /** When to decide again if nothing else happens; milliseconds since the epoch. Absent if never. */
  nextCheckAt?: number;
  /**
   * The record that must be on disk before this decision is executed. Until then the last executed decision stays.
   * Absent if the record does not change.
   */
  record?: WorkloadRecord;
  /** What happened, once the record is on disk. Absent if nothing did. */
  events?: readonly WorkloadEvent[];
}

/** A Kubernetes event. Its message names the workload. */
export interface WorkloadEvent {
  eventType: 'Normal' | 'Warning';
  reason: string;
  message: string;
  /** Name of the Job that a CronJob runs, if the event is that Job's. */
  job?: string;
}
