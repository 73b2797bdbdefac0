import { basename } from 'node:path';
import { UserError } from '../../errors.ts';

/**
 * Throws a `UserError` for manifests in a command line of the kubelet, which is one without `run` under its name.
 * `argv` is that of the process. kubelet: cmd/kubelet/app/server.go NewKubeletCommand
 */
export function refuseKubeletArguments([first]: readonly string[], [, program = '', command]: readonly string[]): void {
  if (first === undefined || basename(program) !== 'kubelet' || command === 'run') return;
  throw new UserError(`unknown command ${first}`, {
    hint: 'Under the name kubelet, manifests come from --pod-manifest-path or --config. kubelet-ts run takes them.',
  });
}
