import { prettyFactory } from 'pino-pretty';

const pretty = prettyFactory({
  colorize: process.stderr.isTTY,
  translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l',
  singleLine: true,
  ignore: 'pid,hostname,component',
});

/** Formats a pino entry as one readable line. */
export function textLine(entry: object): string {
  return pretty(entry);
}
