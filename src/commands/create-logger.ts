import { pino } from 'pino';
import { systemClock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { withGrowingIntervals } from './repeated-failures.ts';

export type LogFormat = 'text' | 'json';

/** How much waits for a file that takes nothing now; what comes then is dropped. */
const maxUnwrittenBytes = 1024 * 1024;
/** Of the log of an agent with a screen; a part of the same size is kept beside it. */
const maxLogFileBytes = 8 * 1024 * 1024;

/**
 * The log of the agent, on stderr as the kubelet's, or in a file. `text` is one readable line an entry, `json` one object.
 */
export async function createLogger(format: LogFormat, level: string, logFile?: string): Promise<{ logger: Logger }> {
  const destination = logFile === undefined ? openStderr() : await openFile(logFile);
  if (format === 'json') {
    const json = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
    return { logger: withGrowingIntervals(json, systemClock) };
  }
  const { textLine } = await import('./log-text.ts');
  const write = (entry: string): void => {
    destination.write(textLine(entry));
  };
  return { logger: withGrowingIntervals(pino({ level, base: null }, { write }), systemClock) };
}

interface Destination {
  write: (text: string) => unknown;
}

function openStderr(): Destination {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: maxUnwrittenBytes });
  // A full disk, or a reader that is gone: the log of an agent must not end it.
  stderr.on('error', () => undefined);
  return stderr;
}

async function openFile(path: string): Promise<Destination> {
  const { RotatingFile } = await import('./rotating-file.ts');
  return new RotatingFile({ path, maxBytes: maxLogFileBytes });
}
