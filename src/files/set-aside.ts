import { rename } from 'node:fs/promises';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';

/**
 * Renames a state file that cannot be used, so that it is out of the way and can still be examined. Logs its new name
 * and the reason. Never rejects, because the agent continues without the file.
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
