import { toError, UserError } from '../../errors.ts';
import { BrokenConfiguration } from './read-configuration.ts';

/**
 * Runs independent checks. Rejects with a `UserError` that has all of their mistakes, and is a `BrokenConfiguration` if
 * one of them is.
 */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const outcomes = await Promise.allSettled(checks.map((check) => Promise.resolve().then(check)));
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const mistakes = reasons.map((reason) => {
    if (reason instanceof UserError) return reason;
    throw toError(reason);
  });
  const [first, ...others] = mistakes;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const message = mistakes.map(textOf).join('\n');
  throw mistakes.some((mistake) => mistake instanceof BrokenConfiguration)
    ? new BrokenConfiguration(message)
    : new UserError(message);
}

const textOf = ({ message, hint }: UserError): string => (hint === undefined ? message : `${message} (${hint})`);
