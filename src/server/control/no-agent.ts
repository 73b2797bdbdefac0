import { UserError } from '../../errors.ts';

/**
 * The error of a command that needs an agent. `consequence` completes its sentence, and `orElse` is an additional hint.
 */
export function noAgent(
  rootDir: string,
  { consequence, orElse, cause }: { consequence?: string; orElse?: string; cause?: unknown } = {},
): UserError {
  const message = [`no kubelet-ts runs on ${rootDir}`, ...(consequence === undefined ? [] : [consequence])].join(', ');
  const fixes = [
    'Start it: kubelet-ts run MANIFEST.',
    'If it runs on another root-dir, give --root-dir or set KUBELET_TS_ROOT_DIR.',
    ...(orElse === undefined ? [] : [orElse]),
  ];
  return new UserError(message, { hint: fixes.join(' '), ...(cause !== undefined && { cause }) });
}
