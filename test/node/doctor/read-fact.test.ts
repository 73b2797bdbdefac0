import { expect, test } from 'vitest';
import { readFact } from '../../../src/node/doctor/diagnose.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

test('a fact that cannot be read within 20 s is not seen', async () => {
  const clock = new FakeClock();
  let isOver = false;
  const never = (): Promise<never> => new Promise(() => undefined);
  const fact = readFact('the disk', never, undefined, clock).finally(() => {
    isOver = true;
  });
  await clock.advance(19_999);
  const wasOver = isOver;
  await clock.advance(1);
  expect({ wasOver, fact: await fact }).toEqual({ wasOver: false, fact: { unseen: 'the disk: not done after 20s' } });
});
