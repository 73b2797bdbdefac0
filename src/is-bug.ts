import { RpcError, isSystemError, UserError } from './errors.ts';

/** False for what the user, the system or the runtime caused, or for what it led to. Anything else is a mistake in this program. */
export function isBug(error: unknown): boolean {
  if (error instanceof UserError || error instanceof RpcError || isSystemError(error)) return false;
  return !(error instanceof Error) || error.cause === undefined || isBug(error.cause);
}
