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

/** Returns an error of a gRPC server as Go's gRPC prints it. Other errors keep their message. */
export function rpcText(error: unknown): string {
  if (!(error instanceof RpcError)) return errorMessage(error);
  return `rpc error: code = ${names[error.code] ?? `Code(${error.code})`} desc = ${error.message}`;
}
