import type { Logger } from '../../src/logger.ts';

/** Returns a logger and its lines: level, message and facts. */
export function lineLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (facts: unknown, message?: string): void => {
      lines.push(`${level} ${message ?? ''} ${JSON.stringify(facts)}`);
    };
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  };
  return { logger, lines };
}
