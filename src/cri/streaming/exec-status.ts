import { UserError } from '../../errors.ts';
import { startFailureExitCode } from '../errors.ts';

/** How a command exited, as the runtime reports it on the error channel: a v1 Status. */
export interface ExecStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** Parses the status in `text`. Returns undefined while the text is incomplete. */
export function parseExecStatus(text: string): ExecStatus | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // An incomplete JSON object is not valid JSON, so the rest has not arrived yet.
    return undefined;
  }
}

/** Returns the exit code of a command that ran. Throws a `UserError` if it did not start. */
export function exitCodeOf(status: ExecStatus, command: readonly string[]): number {
  if (status.status === 'Success') return 0;
  if (status.reason === 'NonZeroExitCode') {
    const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
    const exitCode = Number(cause?.message ?? NaN);
    if (Number.isInteger(exitCode)) return exitCode;
  }
  const message = statusText(status);
  const [, reason = message] = /exec: "[^"]*": (.*?)(?:: unknown)?$/s.exec(message) ?? [];
  throw new UserError(`cannot run "${command[0] ?? ''}" in the container: ${reason}`, {
    exitCode: startFailureExitCode(message) ?? 1,
  });
}

/** Returns the runtime's reason for a failure. */
export function statusText({ message }: ExecStatus): string {
  return message ?? 'no reason from the container runtime';
}
