import { codes } from '../../cri/errors.ts';
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

/** The refusal of a stream that the runtime did not prepare. kubelet: cri-client streaming/errors.go WriteError */
export function streamRefusal(error: unknown): Refusal {
  const code = error instanceof RpcError ? error.code : undefined;
  if (code === codes.notFound) return new Refusal(404, rpcText(error));
  if (code === codes.resourceExhausted) return new Refusal(429, rpcText(error), { 'retry-after': '60' });
  return new Refusal(500, rpcText(error));
}
