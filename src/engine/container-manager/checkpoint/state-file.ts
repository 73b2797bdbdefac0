/** The state file of a resource manager, such as `cpu_manager_state`. kubelet: checkpointmanager */
export interface StateFile {
  /** For messages. */
  readonly path: string;
  /** Content at the start of the agent. Undefined if the file is missing. */
  readonly content: string | undefined;
  /** Replaces the content. Never throws: a full disk is a message, as in the kubelet. */
  write(content: string): void;
}
