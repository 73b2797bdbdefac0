import type { Logger as PinoLogger } from 'pino';

/**
 * The engine's logger: a fixed message in sentence case, facts as fields with the kubelet's keys (`pod`, `podUID`,
 * `containerName`, `containerID`, `err`).
 */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & {
  child(bindings: Record<string, unknown>): Logger;
};

const nothing = (): void => undefined;
/** Logs nothing, for a single read. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => silent };
