import { errorMessage, RpcError } from '../errors.ts';

const names = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** An error of a gRPC server, as Go's gRPC writes it. Other errors have their own message. */
export function rpcText(error: unknown): string {
  if (!(error instanceof RpcError)) return errorMessage(error);
  return `rpc error: code = ${names[error.code] ?? `Code(${error.code})`} desc = ${error.message}`;
}
