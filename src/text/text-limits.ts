/**
 * Limits on strings from containers, runtimes and servers, in bytes of UTF-8. Termination messages have the kubelet's
 * limits (engine/kuberuntime/termination-message.ts, engine/status/generate-pod-status.ts).
 */
export const textLimits = {
  /** Output of an exec probe or hook, for stdout and stderr each. kubelet: pkg/probe/exec/exec.go maxReadLength */
  execOutput: 10 * 1024,
  /** Output of a failed hook, as quoted in its error message. */
  hookOutput: 2 * 1024,
  /** Message of an event or of a sync error. This is the API server's limit for events. */
  event: 1024,
  /** Status message, error of the runtime, field of a log entry, message of a manifest problem. */
  message: 4 * 1024,
  /** All fields of a log entry together. */
  logEntry: 16 * 1024,
} as const;

/** Maximum number of problems kept per source. */
export const maxProblemsPerSource = 200;
