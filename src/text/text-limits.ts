/**
 * Limits on texts from containers, runtimes and servers, in bytes of UTF-8. Termination messages have the limits of the
 * kubelet (engine/kuberuntime/termination-message.ts, engine/status/generate-pod-status.ts).
 */
export const textLimits = {
  /** Output of an exec probe or hook, for each of stdout and stderr. kubelet: pkg/probe/exec/exec.go maxReadLength */
  execOutput: 10 * 1024,
  /** Output of a failed hook that its error message quotes. */
  hookOutput: 2 * 1024,
  /** Message of an event or of a sync error. The API server's limit for events. */
  event: 1024,
  /** Message of a status, error of the runtime, field of a log entry, text of a manifest problem. */
  message: 4 * 1024,
  /** All fields of a log entry together. */
  logEntry: 16 * 1024,
} as const;

/** Number of problems kept for each source. */
export const maxProblemsPerSource = 200;
