import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/clock.ts';

/** Longer than the longest timer of Node. A longer timer fires at once, with a warning. */
const monthMs = 31 * 24 * 3_600_000;

test('waits that are longer than a timer can be are not over at once', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => {
    warnings.push(name);
  };
  process.on('warning', note);
  const giveUp = new AbortController();
  onTestFinished(() => {
    process.off('warning', note);
    giveUp.abort(new Error('the test is over'));
  });
  const cancel = systemClock.after(monthMs, () => undefined);
  const sleeping = systemClock.sleep(monthMs, { signal: giveUp.signal });
  await nextTurn();
  cancel();
  giveUp.abort(new Error('no longer'));
  await expect(sleeping).rejects.toThrow('no longer');
  expect(warnings).toEqual([]);
});
