/**
 * How much is kept of each text that comes from a container, a runtime or a server, in bytes of UTF-8. Termination messages
 * have the limits of the kubelet (engine/kuberuntime/termination-message.ts, engine/status/generate-pod-status.ts).
 */
export const textLimits = {
  /** Output of an exec probe or hook that is looked at, of stdout and of stderr. kubelet: pkg/probe/exec/exec.go maxReadLength */
  execOutput: 10 * 1024,
  /** Output of a hook that is told in why it failed. */
  hookOutput: 2 * 1024,
  /** Message of an event, and of an error of a sync. What API servers take of events. */
  event: 1024,
  /** Message of a status, an error of the runtime, one fact of a log entry, one fact of what is wrong with a manifest. */
  message: 4 * 1024,
  /** Facts of a log entry in all. */
  logEntry: 16 * 1024,
} as const;

/** How many things that are wrong with a source are kept. */
export const maxProblemsPerSource = 200;
