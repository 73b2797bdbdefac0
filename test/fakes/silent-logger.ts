import type { Logger } from '../../src/logger.ts';

const nothing = (): void => undefined;

/** For tests that do not check the log. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};
