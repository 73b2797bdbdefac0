/**
 * Milliseconds without a byte in either direction, after which a client that does not read its answer is disconnected.
 */
export const maxSilenceMs = 60_000;
