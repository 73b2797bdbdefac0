/** What the guard needs of `process`. */
export interface GuardedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
}

const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `leave` before the process ends in any way but SIGKILL: exit, uncaught exception, signal. A signal that nobody
 * else handles then ends the process as if the guard had not been there. The returned function takes the guard away;
 * `leave` has to be fine with being called after it.
 */
export function guardTerminal(leave: () => void, guarded: GuardedProcess): () => void {
  const listeners: [event: string, listener: () => void][] = [
    ['exit', leave],
    // The monitor sees the exception before it is printed, and leaves its course to others.
    ['uncaughtExceptionMonitor', leave],
    ...fatalSignals.map((signal): [string, () => void] => [
      signal,
      () => {
        leave();
        remove();
        if (guarded.listenerCount(signal) === 0) {
          guarded.kill(guarded.pid, signal);
        }
      },
    ]),
  ];
  const remove = () => {
    for (const [event, listener] of listeners) {
      guarded.off(event, listener);
    }
  };
  for (const [event, listener] of listeners) {
    guarded.on(event, listener);
  }
  return remove;
}
