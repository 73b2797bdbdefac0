import { RpcError } from '../errors.ts';

/** gRPC status codes (https://grpc.io/docs/guides/status-codes/). */
export const codes = { ok: 0, deadlineExceeded: 4, notFound: 5, unimplemented: 12, unavailable: 14 } as const;

export const isNotFound = (error: unknown): boolean => hasStatus(error, codes.notFound);
export const isUnimplemented = (error: unknown): boolean => hasStatus(error, codes.unimplemented);
/** The call did not end within its deadline. What it asked for may still happen. */
export const isDeadlineExceeded = (error: unknown): boolean => hasStatus(error, codes.deadlineExceeded);
/** Nobody answers on the socket. */
export const isUnavailable = (error: unknown): boolean => hasStatus(error, codes.unavailable);

/** The same of an error or of what led to it. */
export const isCausedByUnavailable = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Error && error.cause !== undefined && isCausedByUnavailable(error.cause));

function hasStatus(error: unknown, code: number): boolean {
  return error instanceof RpcError && error.code === code;
}

/**
 * The exit code a shell gives for a command it cannot start: 127 for one that is not there, 126 for one that is no program.
 * No status has a code for it, so this is one place where the words decide: those of the kernel and of the Go and C runtimes
 * that pass them on. Returns undefined for another failure.
 */
export function startFailureExitCode(message: string): 126 | 127 | undefined {
  if (/executable file .*not found|no such file or directory/i.test(message)) return 127;
  if (/permission denied|is a directory|exec format error/i.test(message)) return 126;
  return undefined;
}
