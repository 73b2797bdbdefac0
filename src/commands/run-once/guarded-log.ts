import { inspect } from 'node:util';
import { type Logger, wrapLogger } from '../../logger.ts';
import type { OutputGuard } from './github-guard.ts';

/**
 * A logger whose entries the CI service does not interpret, because they may quote containers, such as probe output.
 */
export function guardedLog(logger: Logger, guard: OutputGuard | undefined): Logger {
  if (guard === undefined) return logger;
  return wrapLogger(logger, (inner, level, facts, message) => {
    inner[level](guarded(facts, guard), message === undefined ? undefined : guard.text(message));
  });
}

function guarded(value: unknown, guard: OutputGuard): unknown {
  if (typeof value === 'string') return guard.text(value);
  if (value instanceof Error) return guardedError(value, guard);
  if (Array.isArray(value)) return value.map((item) => guarded(item, guard));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, guarded(field, guard)]));
}

/** The error itself, or its safe text with its causes if the CI service would interpret it. */
function guardedError(error: Error, guard: OutputGuard): Error | string {
  const text = inspect(error);
  const safe = guard.text(text);
  return safe === text ? error : safe;
}
