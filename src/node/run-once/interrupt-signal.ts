import { UserError } from '../../errors.ts';
import { exitCodes } from './run-once-outcome.ts';

/**
 * Aborted by the first SIGINT or SIGTERM, with the error of a run that has no results yet. The second signal stops the
 * process. Call it once per process.
 */
export function interruptSignal(): AbortSignal {
  const interrupted = new AbortController();
  // It stays after the first signal: a second one would be lost if the listeners were removed just then.
  const onSignal = (signal: NodeJS.Signals): void => {
    if (interrupted.signal.aborted) {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
      process.kill(process.pid, signal);
    } else {
      interrupted.abort(new UserError('interrupted before the pods ran', { exitCode: exitCodes.interrupted }));
    }
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return interrupted.signal;
}
