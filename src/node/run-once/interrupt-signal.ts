import { UserError } from '../../errors.ts';
import { exitCodes } from './run-once-outcome.ts';

/**
 * Aborted by the first SIGINT or SIGTERM from now on, with the error of a run that has no results then. The second one,
 * of either kind, ends the process. For one call in a process.
 */
export function interruptSignal(): AbortSignal {
  const interrupted = new AbortController();
  const onSignal = (): void => {
    interrupted.abort(new UserError('interrupted before the pods ran', { exitCode: exitCodes.interrupted }));
    // Later, because execa ends the process at once when no other listener is left.
    setImmediate(() => process.off('SIGINT', onSignal).off('SIGTERM', onSignal));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return interrupted.signal;
}
