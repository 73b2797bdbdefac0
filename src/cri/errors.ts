import { errorMessage, RpcError } from '../errors.ts';

/** gRPC status codes (https://grpc.io/docs/guides/status-codes/). */
export const codes = {
  ok: 0,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
} as const;

export const isNotFound = (error: unknown): boolean => hasStatus(error, codes.notFound);
export const isUnimplemented = (error: unknown): boolean => hasStatus(error, codes.unimplemented);
/** True if the call exceeded its deadline. The runtime may still complete it. */
export const isDeadlineExceeded = (error: unknown): boolean => hasStatus(error, codes.deadlineExceeded);
/** True if nothing answers on the socket. */
export const isUnavailable = (error: unknown): boolean => hasStatus(error, codes.unavailable);

/** True if the error or one of its causes is `unavailable`. */
export const isCausedByUnavailable = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Error && error.cause !== undefined && isCausedByUnavailable(error.cause));

/** Matches a message of @grpc/grpc-js. The group captures the kernel's error. */
const noConnection = /^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note:/;

/** Returns the kernel's error in a message of @grpc/grpc-js, or undefined if the message has none. */
export function connectFailure(message: string): string | undefined {
  return noConnection.exec(message)?.[1];
}

/** Explains why the runtime does not answer, without gRPC's wording. */
export function silenceText(error: unknown): string {
  if (isDeadlineExceeded(error)) return 'it did not answer in time';
  if (!isUnavailable(error)) return errorMessage(error);
  const failure = connectFailure(errorMessage(error));
  if (failure === undefined) return 'it closed the connection';
  if (/\bENOENT\b/.test(failure)) return 'its socket does not exist';
  return /\bECONNREFUSED\b/.test(failure) ? 'nothing listens on its socket' : failure;
}

/** Resolves to undefined if the runtime does not have the object that the call names. Rejects with other errors. */
export async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function hasStatus(error: unknown, code: number): boolean {
  return error instanceof RpcError && error.code === code;
}

/**
 * Returns a shell's exit code for a command that cannot start: 127 if not found, 126 if not executable. Returns
 * undefined for other failures. gRPC has no status for these cases. So, as an exception, the message decides: that of
 * the kernel and of the Go and C runtimes that pass it on.
 */
export function startFailureExitCode(message: string): 126 | 127 | undefined {
  if (/executable file .*not found|no such file or directory/i.test(message)) return 127;
  if (/permission denied|is a directory|exec format error/i.test(message)) return 126;
  return undefined;
}
