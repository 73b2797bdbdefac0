import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { reportWait } from '../../../src/commands/io/report-wait.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

test('a wait is reported after three seconds and every thirty, until it ends', async () => {
  const clock = new FakeClock();
  const stderr = new PassThrough();
  const printed = (): string => String(stderr.read() ?? '');
  let left: string | undefined = 'waiting for web';
  const end = reportWait(stderr, () => left, clock);
  await clock.advance(2999);
  expect(printed()).toBe('');
  await clock.advance(1);
  expect(printed()).toBe('waiting for web\n');
  left = undefined;
  await clock.advance(30_000);
  left = 'waiting for db\u001b';
  expect(printed()).toBe('');
  await clock.advance(30_000);
  expect(printed()).toBe('waiting for db\\x1b\n');
  end();
  await clock.advance(60_000);
  expect(printed()).toBe('');
});
