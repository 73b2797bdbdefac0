import { printable } from '../../text/visible-text.ts';

/**
 * Labelled values in two columns, one per line. Leaves out undefined and empty values. A value with several lines
 * continues below.
 */
export function fields(indent: number, rows: readonly (readonly [string, string | number | undefined])[]): string {
  const shown = rows.filter(([, value]) => value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([label]) => label.length)) + 3;
  return shown
    .map(([label, value]) => {
      const [first = '', ...others] = String(value).split('\n').map(printable);
      const rest = others.map((line) => `${' '.repeat(indent + width)}${line}\n`);
      return `${' '.repeat(indent)}${`${label}:`.padEnd(width)}${first}\n${rest.join('')}`;
    })
    .join('');
}

/** A time as kubectl prints it: `Mon, 02 Jan 2006 15:04:05 +0000`. */
export function timeText(time: string | number): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? '<unknown>' : at.toUTCString().replace('GMT', '+0000');
}
