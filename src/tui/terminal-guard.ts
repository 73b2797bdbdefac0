/** The parts of `process` that the guard uses. */
export interface GuardedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
}

const fatalSignals = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const;

/** A key of the terminal sends these signals to the command that uses it, and to this process too. */
const keySignals: readonly string[] = ['SIGINT', 'SIGQUIT'];

/**
 * Calls `leave` before the process stops in any way except SIGKILL: exit, uncaught exception or signal. A signal
 * without another handler then stops the process as usual. While the terminal is lent, signals from its keys have no
 * effect. Returns a function that removes the guard. `leave` may be called after that.
 */
export function guardTerminal(leave: () => void, guarded: GuardedProcess, isLent: () => boolean): () => void {
  const listeners: [event: string, listener: () => void][] = [
    ['exit', leave],
    // The monitor runs before the exception is printed and does not change its effect.
    ['uncaughtExceptionMonitor', leave],
    ...fatalSignals.map((signal): [string, () => void] => [
      signal,
      () => {
        if (keySignals.includes(signal) && isLent()) return;
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
