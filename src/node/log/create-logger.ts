import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import { SecretValues } from '../../engine/redaction/secret-values.ts';
import { type Logger, type LogLevel, wrapLogger } from '../../logger.ts';
import { visibleJSON, visible } from '../../text/visible-text.ts';
import { withGrowingIntervals } from './repeated-failures.ts';
import { StreamLog } from './stream-log.ts';
import { boundedText } from '../../text/bounded-text.ts';
import { textLimits } from '../../text/text-limits.ts';

export type LogFormat = 'text' | 'json';

/** Limit on unwritten bytes while a file or a reader accepts none. More lines are dropped. */
const maxUnwrittenBytes = 1024 * 1024;
/** Size limit of the log of an agent with a screen. One older file of the same size is kept. */
const maxLogFileBytes = 8 * 1024 * 1024;

interface LoggerOptions {
  /** Defaults to stderr, as in the kubelet. */
  logFile?: string | undefined;
  /** Values that no entry may contain. */
  secrets?: SecretValues;
}

/** The log of the agent. `text` writes a readable line per entry, `json` an object. */
export async function createLogger(
  format: LogFormat,
  level: string,
  { logFile, secrets = new SecretValues() }: LoggerOptions = {},
): Promise<AdjustableLog> {
  const onDropped = (lines: number): void => {
    all.warn({ lines }, 'Dropped log lines: the log reader is blocked');
  };
  const destination = logFile === undefined ? openStderr(onDropped) : await openFile(logFile);
  const line = format === 'json' ? jsonLine : await textLineOf(logFile === undefined);
  const write = (entry: string): void => {
    destination.write(line(redactedEntry(entry, secrets)));
  };
  const timestamp = format === 'json' ? { timestamp: pino.stdTimeFunctions.isoTime } : {};
  const all = pino({ level: isLevel(level) ? levels[0] : level, base: null, ...timestamp }, { write });
  const threshold = { level };
  const setLevel = (next: string): void => {
    threshold.level = next;
  };
  return { logger: withGrowingIntervals(fromLevel(all, threshold), systemClock), setLevel };
}

interface AdjustableLog {
  logger: Logger;
  /** Sets the level of the log and of all its children. */
  setLevel: (level: string) => void;
}

const levels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];
const isLevel = (level: string): boolean => (levels as readonly string[]).includes(level);

/**
 * A log that drops entries below the threshold. The children of pino would keep the level that they were created with.
 */
function fromLevel(logger: Logger, threshold: { level: string }): Logger {
  return wrapLogger(logger, (inner, level, facts, message) => {
    const wanted = levels.findIndex((name) => name === threshold.level);
    if (levels.indexOf(level) >= wanted) inner[level](facts, message);
  });
}

const jsonLine = (entry: object): string => `${visibleJSON(JSON.stringify(entry))}\n`;

async function textLineOf(isOnStderr: boolean): Promise<(entry: Record<string, unknown>) => string> {
  const { journalLine, textLine } = await import('./log-text.ts');
  const stats = fstatSync(stderrFd, { bigint: true });
  const format = isOnStderr && isJournal(process.env['JOURNAL_STREAM'], stats) ? journalLine : textLine;
  return (entry) => format(singleLineEntry(entry));
}

const stderrFd = 2;

interface Destination {
  write: (text: string) => unknown;
}

function openStderr(onDropped: (lines: number) => void): Destination {
  if (hasReader(stderrFd)) return new StreamLog({ fd: stderrFd, maxBytes: maxUnwrittenBytes, onDropped });
  const stderr = pino.destination({ dest: stderrFd, sync: true, maxLength: maxUnwrittenBytes });
  // A full disk or a closed pipe under the log must not stop the agent.
  stderr.on('error', () => undefined);
  return stderr;
}

/** True for a pipe, a socket or a terminal, which accept nothing while no one reads. */
function hasReader(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() || isatty(fd);
}

async function openFile(path: string): Promise<Destination> {
  const { RotatingFile } = await import('./rotating-file.ts');
  return new RotatingFile({ path, maxBytes: maxLogFileBytes });
}

/** True if a descriptor is connected to systemd's journal, which names its device and inode: systemd.exec(5). */
export function isJournal(stream: string | undefined, { dev, ino }: { dev: bigint; ino: bigint }): boolean {
  return stream === `${dev}:${ino}`;
}

type Facts = Record<string, unknown>;

/**
 * Makes an entry safe to write: bounds each string, redacts values of Secrets, and cuts the whole entry to its limit.
 * `entry` is pino's JSON.
 */
export function redactedEntry(entry: string, secrets: SecretValues): Facts {
  let bytesLeft: number = textLimits.logEntry;
  const clean = (text: string): string => {
    const bounded = boundedText(secrets.hide(text), Math.min(textLimits.message, Math.max(0, bytesLeft)));
    bytesLeft -= bounded.length;
    return bounded;
  };
  return mapStrings(JSON.parse(entry), clean) as Facts;
}

/** Makes an entry safe for a log of lines: no string can start a new line or control a terminal. */
export function singleLineEntry(entry: Facts): Facts {
  return mapStrings(entry, (text, name) => (name === 'stack' ? visibleStack(text) : visible(text))) as Facts;
}

/** Keeps the line breaks between stack frames. Escapes those of the message, which may come from outside. */
function visibleStack(stack: string): string {
  const [message = '', ...calls] = stack.split(/\n(?= {4}at )/);
  return [visible(message), ...calls.map(visible)].join('\n');
}

function mapStrings(value: unknown, change: (text: string, name: string) => string, name = ''): unknown {
  if (typeof value === 'string') return change(value, name);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [visible(key), mapStrings(field, change, key)]),
  );
}
