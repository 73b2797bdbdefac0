/** kubelet: pleg/pleg.go PodLifeCycleEventType */
export type PodLifecycleEventType = 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged';

/** A change of one container or sandbox that the PLEG found. */
export interface PodLifecycleEvent {
  podUID: string;
  type: PodLifecycleEventType;
  /** Container or sandbox id. */
  id: string;
  /** Absent for a sandbox. */
  containerName?: string;
}
