import { expect, test } from 'vitest';
import { attacks } from '../siege/attacks.ts';
import { runSiege } from '../siege/run-siege.ts';

/** Set by scripts/siege; a short siege otherwise. */
const minutes = Number(process.env['SIEGE_MINUTES'] ?? 0.75);
const seed = Number(process.env['SIEGE_SEED'] ?? 1);
const names = (variable: string): string[] => (process.env[variable] ?? '').split(',').filter((name) => name !== '');
const [only, without] = [names('SIEGE_ONLY'), names('SIEGE_WITHOUT')];
const isLong = process.env['SIEGE_MINUTES'] !== undefined;

test(
  `one agent answers, stays small and keeps its calm pods through ${minutes} minutes of every attack at once`,
  { timeout: 300_000 + minutes * 60_000 },
  async () => {
    const wanted = attacks.filter(({ name }) => (only.length === 0 || only.includes(name)) && !without.includes(name));
    const { figures, failures, before, after } = await runSiege({
      attacks: wanted,
      seconds: minutes * 60,
      seed,
      say: (text) => {
        if (isLong) process.stderr.write(text);
      },
    });
    expect({ failures, errors: figures.errors, after }).toEqual({ failures: [], errors: [], after: before });
    expect(figures.worstBeyondFloorMs).toBeLessThan(1000);
    expect(figures.peakMB).toBeLessThan(120);
  },
);
