import { UserError } from '../../errors.ts';

/** Runs a command of the init system. Rejects with a `UserError` if it fails. */
export async function runInitCommand([command = '', ...args]: readonly string[]): Promise<void> {
  const { failed, stderr } = await initCommand(command, args);
  if (!failed) return;
  const why = stderr === '' ? '' : `: ${stderr}`;
  throw new UserError(`${[command, ...args].join(' ')} failed${why}`, {
    hint: 'Fix that, then run the command again.',
  });
}

/** Runs a command of the init system that may fail. Never rejects. */
export async function initCommand(
  command: string,
  args: readonly string[],
): Promise<{ failed: boolean; stdout: string; stderr: string }> {
  const { execa } = await import('execa');
  return execa(command, args, { reject: false, timeout: 120_000, stdin: 'ignore' });
}
