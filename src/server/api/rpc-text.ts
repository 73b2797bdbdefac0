import { errorMessage, RpcError } from '../../errors.ts';
import { Refusal } from './answers.ts';

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

/** An error of the runtime, as Go's gRPC writes it. */
export function rpcText(error: unknown): string {
  if (!(error instanceof RpcError)) return errorMessage(error);
  return `rpc error: code = ${names[error.code] ?? `Code(${error.code})`} desc = ${error.message}`;
}

const notFound = 5;
const resourceExhausted = 8;

/** The refusal of a stream that the runtime did not prepare. kubelet: cri-client streaming/errors.go WriteError */
export function streamRefusal(error: unknown): Refusal {
  const code = error instanceof RpcError ? error.code : undefined;
  if (code === notFound) return new Refusal(404, rpcText(error));
  if (code === resourceExhausted) return new Refusal(429, rpcText(error), { 'retry-after': '60' });
  return new Refusal(500, rpcText(error));
}
