/**
 * Milliseconds that the runtime has beyond the grace period of a pod to end and remove it, where somebody waits for that.
 * Twice as long as containerd takes for a sandbox whose network plugin has to be cut.
 */
export const removalTimeoutMs = 30_000;
