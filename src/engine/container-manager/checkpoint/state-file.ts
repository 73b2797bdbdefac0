/** The state file of a resource manager, for example `cpu_manager_state`. kubelet: checkpointmanager */
export interface StateFile {
  /** For messages. */
  readonly path: string;
  /** Content when the agent started. Undefined if the file was missing. */
  readonly content: string | undefined;
  /** Replaces the content. Never throws: a full disk is only logged, as in the kubelet. */
  write(content: string): void;
}
