/** Time without a byte in either direction, in milliseconds. Then a client that does not take its answer is closed. */
export const maxSilenceMs = 60_000;
