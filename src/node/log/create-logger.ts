import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import { SecretValues } from '../../engine/outgoing/secret-values.ts';
import type { Logger } from '../../logger.ts';
import { visibleJSON } from '../../visible-text.ts';
import { outgoingEntry, singleLineEntry } from './outgoing-log.ts';
import { withGrowingIntervals } from './repeated-failures.ts';

export type LogFormat = 'text' | 'json';

/** Limit on unwritten bytes while a file accepts none. Further bytes are dropped. */
const maxUnwrittenBytes = 1024 * 1024;
/** Limit of the log of an agent with a screen. One older part of the same size is kept. */
const maxLogFileBytes = 8 * 1024 * 1024;

interface LoggerOptions {
  /** Defaults to stderr, as in the kubelet. */
  logFile?: string | undefined;
  /** Values that no entry may contain. */
  secrets?: SecretValues;
}

/** The log of the agent. `text` writes a readable line for each entry, `json` an object. */
export async function createLogger(
  format: LogFormat,
  level: string,
  { logFile, secrets = new SecretValues() }: LoggerOptions = {},
): Promise<{ logger: Logger }> {
  const destination = logFile === undefined ? openStderr() : await openFile(logFile);
  const line = format === 'json' ? jsonLine : await textLineOf();
  const write = (entry: string): void => {
    destination.write(line(outgoingEntry(entry, secrets)));
  };
  const timestamp = format === 'json' ? { timestamp: pino.stdTimeFunctions.isoTime } : {};
  return { logger: withGrowingIntervals(pino({ level, base: null, ...timestamp }, { write }), systemClock) };
}

const jsonLine = (entry: object): string => `${visibleJSON(JSON.stringify(entry))}\n`;

async function textLineOf(): Promise<(entry: Record<string, unknown>) => string> {
  const { textLine } = await import('./log-text.ts');
  return (entry) => textLine(singleLineEntry(entry));
}

interface Destination {
  write: (text: string) => unknown;
}

function openStderr(): Destination {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: maxUnwrittenBytes });
  // A full disk or a closed pipe under the log must not end the agent.
  stderr.on('error', () => undefined);
  return stderr;
}

async function openFile(path: string): Promise<Destination> {
  const { RotatingFile } = await import('./rotating-file.ts');
  return new RotatingFile({ path, maxBytes: maxLogFileBytes });
}
