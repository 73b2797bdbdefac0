import { access } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** True if the path exists. Rejects if that cannot be found out. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
