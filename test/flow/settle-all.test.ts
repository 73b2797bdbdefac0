import { expect, test } from 'vitest';
import { settleAll } from '../../src/flow/settle-all.ts';

test('the results come in the order of the works', async () => {
  expect(await settleAll([Promise.resolve(1), 'two', undefined])).toEqual([1, 'two', undefined]);
});

test('the first error in the order of the works comes once the last work has ended', async () => {
  const ended: string[] = [];
  let end = (): void => undefined;
  const slow = new Promise<void>((resolve) => (end = resolve)).then(() => {
    ended.push('slow');
    throw new Error('slow');
  });
  const quick = Promise.reject(new Error('quick')).finally(() => ended.push('quick'));
  const all = settleAll([slow, quick]);
  await quick.catch(() => undefined);
  end();
  await expect(all).rejects.toThrow('slow');
  expect(ended).toEqual(['quick', 'slow']);
});
