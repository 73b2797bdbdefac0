import { basename } from 'node:path';
import { UserError } from '../../errors.ts';

/**
 * Throws a `UserError` for manifests on a command line of the kubelet: without `run`, in a program named `kubelet`.
 * `argv` is that of the process. kubelet: cmd/kubelet/app/server.go NewKubeletCommand
 */
export function refuseKubeletArguments([first]: readonly string[], [, program = '', command]: readonly string[]): void {
  if (first === undefined || basename(program) !== 'kubelet' || command === 'run') return;
  throw new UserError(`unknown command ${first}`, {
    hint: 'When it runs as kubelet, it reads manifests from --pod-manifest-path or --config. To name them as args: kubelet-ts run',
  });
}
