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
