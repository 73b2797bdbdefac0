import { access } from 'node:fs/promises';
import { ifPresent } from './if-present.ts';

/** True if the path exists. Rejects if we cannot find out. */
export async function pathExists(path: string): Promise<boolean> {
  return (await ifPresent(access(path).then(() => true))) === true;
}
