import { InvalidArgumentError } from 'commander';

/** A flag that may be there several times. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value];

/** A flag of several values with commas between them, which may be there several times too. */
export const list = (value: string, values: string[] = []): string[] => [...values, ...value.split(',')];

/** A count. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** A Go duration, in milliseconds. */
export function duration(text: string): number {
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)];
  const matched = parts.map(([part]) => part).join('');
  if (text === '' || matched !== text) throw new InvalidArgumentError('It must be a duration such as 20s or 1m30s.');
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (units[unit] ?? 0), 0);
}
