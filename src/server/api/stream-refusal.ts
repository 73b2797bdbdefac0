import { codes } from '../../cri/errors.ts';
import { RpcError } from '../../errors.ts';
import { rpcText } from '../../rpc-text.ts';
import { Refusal } from './answers.ts';

/** The refusal of a stream that the runtime did not prepare. kubelet: cri-client streaming/errors.go WriteError */
export function streamRefusal(error: unknown): Refusal {
  const code = error instanceof RpcError ? error.code : undefined;
  if (code === codes.notFound) return new Refusal(404, rpcText(error));
  if (code === codes.resourceExhausted) return new Refusal(429, rpcText(error), { 'retry-after': '60' });
  return new Refusal(500, rpcText(error));
}
