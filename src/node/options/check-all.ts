import { UserError } from '../../errors.ts';
import { BrokenConfiguration } from './read-configuration.ts';

/**
 * The results of independent checks. Rejects with a `UserError` that has all of their mistakes, and is a
 * `BrokenConfiguration` if one of them is.
 */
export async function checkAll<T extends readonly unknown[]>(
  ...checks: { [K in keyof T]: () => T[K] | Promise<T[K]> }
): Promise<T> {
  const outcomes = await Promise.allSettled(checks.map((check) => Promise.resolve().then(check)));
  const mistakes: UserError[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    if (!(outcome.reason instanceof UserError)) throw outcome.reason;
    mistakes.push(outcome.reason);
  }
  const [first, ...others] = mistakes;
  if (first === undefined)
    return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as never;
  if (others.length === 0) throw first;
  const message = mistakes.map(textOf).join('\n');
  throw mistakes.some((mistake) => mistake instanceof BrokenConfiguration)
    ? new BrokenConfiguration(message)
    : new UserError(message);
}

const textOf = ({ message, hint }: UserError): string => (hint === undefined ? message : `${message} (${hint})`);
