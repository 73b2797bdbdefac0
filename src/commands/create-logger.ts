import { pino } from 'pino';
import type { Logger } from '../logger.ts';

export type LogFormat = 'text' | 'json';

/** The log of the agent, on stderr as the kubelet's. `text` is one readable line an entry, `json` one object. */
export async function createLogger(format: LogFormat, level: string): Promise<{ logger: Logger }> {
  const stderr = pino.destination({ dest: 2, sync: true });
  if (format === 'json') {
    return { logger: pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr) };
  }
  const { textLine } = await import('./log-text.ts');
  const write = (entry: string): void => {
    stderr.write(textLine(entry));
  };
  return { logger: pino({ level, base: null }, { write }) };
}
