import { expect, test } from 'vitest';
import { attacks } from '../siege/attacks.ts';
import { runSiege } from '../siege/run-siege.ts';

/** Set by scripts/siege; a short siege otherwise. */
const minutes = Number(process.env['SIEGE_MINUTES'] ?? 0.5);
const seed = Number(process.env['SIEGE_SEED'] ?? 1);
const names = (variable: string): string[] => (process.env[variable] ?? '').split(',').filter((name) => name !== '');
const isLong = process.env['SIEGE_MINUTES'] !== undefined;
const only = names('SIEGE_ONLY');
/** Other tests of root's need inotify, too. */
const without = isLong ? names('SIEGE_WITHOUT') : ['used-up-inotify'];

/** A flood may hold all connections of a server for 7 s: see docs/reference/api.md, The HTTPS API. */
const limits = { ms: 10_000, psMs: 5000, peakMB: 256, residentGrowth: 1.15 };
/** In less time, one attack makes up most of a third. */
const minutesForGrowth = 6;
/** On a machine so busy that a bare Node takes seconds, a command may take three times that more. */
const nodeTimes = 3;

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
    expect(figures.worstBeyondFloorMs).toBeLessThan(limits.ms);
    for (const share of ['median', 'high', 'worst'] as const) {
      const limitMs = Math.max(limits.psMs, nodeTimes * figures.nodeMs[share]);
      expect(figures.psBeyondNodeMs[share]).toBeLessThan(limitMs);
    }
    expect(figures.peakMB).toBeLessThan(limits.peakMB);
    if (minutes >= minutesForGrowth) expect(figures.residentGrowth).toBeLessThan(limits.residentGrowth);
  },
);
