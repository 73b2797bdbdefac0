import { access, constants, stat } from 'node:fs/promises';
import { UserError } from '../../errors.ts';

/** Rejects with a `UserError` if the program of a service is not an executable file on this machine. */
export async function requireExecutable(program: string): Promise<void> {
  if (await isExecutable(program)) return;
  throw new UserError(`${program} is not an executable file`, {
    hint: 'Name the kubelet-ts of this machine with --program.',
  });
}

async function isExecutable(program: string): Promise<boolean> {
  try {
    await access(program, constants.X_OK);
    return (await stat(program)).isFile();
  } catch {
    return false;
  }
}
