/**
 * Milliseconds. Even a busy machine needs less for any step: a test that waits this long waits in vain. Below the
 * timeout of a test, so that the message says what it waited for.
 */
export const deadlineMs = 300_000;
