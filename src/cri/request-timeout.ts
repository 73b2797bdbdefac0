/** Milliseconds that a call to the runtime may take, where nothing else is said. kubelet: runtimeRequestTimeout */
export const defaultRequestTimeoutMs = 120_000;
