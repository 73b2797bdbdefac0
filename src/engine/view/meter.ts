/** Receives figures that no event and no snapshot has. No method may throw. */
export interface Meter {
  /** The runtime was listed. */
  relisted(durationMs: number): void;
  probed(run: ProbeRun): void;
  /** A container is about to be created. */
  containerStarting(type: ContainerType): void;
  /** `code` is its waiting reason, such as `CreateContainerError`. */
  containerNotStarted(type: ContainerType, code: string): void;
}

/** kubelet: metrics/metrics.go Container, InitContainer */
export type ContainerType = 'container' | 'init_container';

/** One run of a probe, with its retries. */
export interface ProbeRun {
  podUID: string;
  pod: string;
  namespace: string;
  container: string;
  /** Such as `Liveness`. */
  probeType: string;
  /** kubelet: prober/prober_manager.go ProberResults */
  result: 'successful' | 'failed' | 'unknown';
  durationMs: number;
}
