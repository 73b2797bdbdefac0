import { oldestRelease } from '../../process/build-time.ts';
import type { Logger } from '../../logger.ts';
import { createLogger, type LogFormat } from './create-logger.ts';
import { programVersion } from '../../process/program-version.ts';
import { referenceVersion } from '../options/flags.ts';
import type { NodeOptions } from '../options/node-options.ts';

/** Flags of the agent's log, as parsed by commander. The configuration has the values of absent ones. */
export interface LogFlags {
  logFormat?: LogFormat;
  logLevel?: string;
}

/** The klog level from which the kubelet logs debug messages. */
const debugVerbosity = 4;

/**
 * The agent's log, on stderr or in a file. Starts with the warnings about the configuration. `setVerbosity` accepts a
 * klog level.
 */
export async function createNodeLogger(
  { logging, warnings, unusedFields, secrets }: NodeOptions,
  flags: LogFlags,
  defaultLevel: string,
  logFile?: string,
): Promise<{ logger: Logger; setVerbosity: (level: number) => void }> {
  const format = flags.logFormat ?? (logging.format === 'json' ? 'json' : 'text');
  const levelAt = (verbosity: number): string => (verbosity >= debugVerbosity ? 'debug' : defaultLevel);
  const { logger, setLevel } = await createLogger(format, flags.logLevel ?? levelAt(logging.verbosity), {
    logFile,
    secrets,
  });
  logger.info({ version: programVersion, kubernetesVersion: referenceVersion }, 'Starting kubelet-ts');
  if (Date.now() < oldestRelease) {
    const hint = 'Ages are right once it is set: timedatectl set-ntp true, or date -s';
    logger.warn(
      { now: new Date().toISOString(), hint },
      'The clock is not set; until then, certificates count as not valid yet',
    );
  }
  for (const { message, origin, line, column, field, hint } of warnings) {
    logger.warn({ origin, line, column, field, hint }, message);
  }
  if (unusedFields.length > 0) {
    const fields = Object.fromEntries(unusedFields.map(({ field, reason }) => [field, reason]));
    logger.info({ fields }, 'Some configuration fields are set but have no effect here');
  }
  const setVerbosity = (verbosity: number): void => {
    setLevel(levelAt(verbosity));
  };
  return { logger, setVerbosity };
}
