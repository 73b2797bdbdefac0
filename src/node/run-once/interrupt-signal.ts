import { UserError } from '../../errors.ts';
import { exitCodes } from './run-once-outcome.ts';

/**
 * Aborted by the first SIGINT or SIGTERM, with the error of a run that has no results yet. The second signal stops the
 * process. Call it once per process.
 */
export function interruptSignal(): AbortSignal {
  const interrupted = new AbortController();
  const onSignal = (): void => {
    interrupted.abort(new UserError('interrupted before the pods ran', { exitCode: exitCodes.interrupted }));
    // Runs later, because execa stops the process if no listener is left.
    setImmediate(() => process.off('SIGINT', onSignal).off('SIGTERM', onSignal));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return interrupted.signal;
}
