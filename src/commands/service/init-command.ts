import { UserError } from '../../errors.ts';

/** Runs a command of the init system. Rejects with a `UserError` if it fails. */
export async function runInitCommand([command = '', ...words]: readonly string[]): Promise<void> {
  const { failed, stderr } = await initCommand(command, words);
  if (!failed) return;
  const why = stderr === '' ? '' : `: ${stderr}`;
  throw new UserError(`${[command, ...words].join(' ')} failed${why}`, {
    hint: 'Fix that, then run the command again.',
  });
}

/** Runs a command of the init system that may fail. Never rejects. */
export async function initCommand(
  command: string,
  words: readonly string[],
): Promise<{ failed: boolean; stdout: string; stderr: string }> {
  const { execa } = await import('execa');
  return execa(command, words, { reject: false, timeout: 120_000, stdin: 'ignore' });
}
