import { prettyFactory } from 'pino-pretty';

const hidden = 'pid,hostname,component';
const pretty = prettyFactory({
  colorize: process.stderr.isTTY,
  translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l',
  singleLine: true,
  ignore: hidden,
});
const plain = prettyFactory({ colorize: false, singleLine: true, ignore: `${hidden},time,level` });

/** Formats a pino entry as one readable line. */
export function textLine(entry: object): string {
  return pretty(entry);
}

/** Formats a pino entry for systemd's journal, which records the time and priority of each line: sd-daemon(3). */
export function journalLine(entry: { level?: unknown }): string {
  return `<${priorityOf(Number(entry.level))}>${plain(entry)}`;
}

/** The priority of syslog(3) for a level of pino. */
function priorityOf(level: number): number {
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}
