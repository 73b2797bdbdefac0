import { rename } from 'node:fs/promises';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';

/**
 * Renames a state file that cannot be used, so that it can be examined and is not in the way. Logs its name and why.
 * Never rejects, because the agent goes on without the file.
 */
export async function setAside(path: string, because: string, logger: Pick<Logger, 'warn'>): Promise<void> {
  const aside = `${path}.damaged`;
  try {
    await rename(path, aside);
    logger.warn({ path, aside, err: because }, 'A damaged state file was set aside');
  } catch (error) {
    logger.warn({ path, err: because, renameError: errorMessage(error) }, 'A state file is damaged and is ignored');
  }
}
