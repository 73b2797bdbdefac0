import { access } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** False when there is nothing at the path; rejects when that cannot be told. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
