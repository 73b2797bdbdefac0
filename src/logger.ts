import type { Logger as PinoLogger } from 'pino';

/**
 * The engine's logger: a fixed message in sentence case, facts as fields with the kubelet's keys (`pod`, `podUID`,
 * `containerName`, `containerID`, `err`).
 */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & {
  child(bindings: Record<string, unknown>): Logger;
};

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes an entry to a log. */
type WriteEntry = (logger: Logger, level: LogLevel, facts: unknown, message: string | undefined) => void;

/** Returns a logger that passes its entries, and those of its children, to `write`. */
export function wrapLogger(logger: Logger, write: WriteEntry): Logger {
  const at = (level: LogLevel): Logger[LogLevel] => {
    const writeAt = (facts: unknown, message?: string): void => {
      write(logger, level, facts, message);
    };
    return writeAt;
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (bindings) => wrapLogger(logger.child(bindings), write),
  };
}

const nothing = (): void => undefined;
/** Logs nothing. For a single read. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => silent };
