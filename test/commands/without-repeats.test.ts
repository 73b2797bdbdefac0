import { beforeEach, expect, test } from 'vitest';
import { withoutRepeats } from '../../src/commands/without-repeats.ts';
import type { Logger } from '../../src/logger.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

let clock: FakeClock;
let lines: string[];
let logger: Logger;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  logger = withoutRepeats(recording({}), clock);
});

function recording(bindings: object): Logger {
  const write = (facts: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify({ ...bindings, ...facts })}`);
  };
  return {
    ...silentLogger,
    info: write,
    warn: write,
    error: write,
    child: (more: object) => recording({ ...bindings, ...more }),
  } as unknown as Logger;
}

test('the same warning is written again after 1 min, 2 min, 4 min, with how often it came', async () => {
  for (let second = 0; second < 500; second++) {
    logger.warn({ err: new Error('EMFILE') }, 'Failed');
    await clock.advance(1000);
  }
  expect(lines).toEqual([
    'Failed {"err":{}}',
    'Failed {"err":{},"repeated":59}',
    'Failed {"err":{},"repeated":119}',
    'Failed {"err":{},"repeated":239}',
  ]);
});

test('another level, message, fact, error or component is another line', () => {
  logger.warn({ path: '/a' }, 'Failed');
  logger.warn({ path: '/b' }, 'Failed');
  logger.error({ path: '/a' }, 'Failed');
  logger.warn('Failed');
  logger.warn({ err: 'EIO' }, 'Failed');
  logger.child({ component: 'gc' }).warn({ path: '/a' }, 'Failed');
  expect(lines).toHaveLength(6);
});

test('what comes back after a time without it is news', async () => {
  logger.warn('Failed');
  await clock.advance(120_000);
  logger.warn('Failed');
  await clock.advance(59_000);
  logger.warn('Failed');
  await clock.advance(1000);
  logger.warn('Failed');
  expect(lines).toEqual(['Failed {}', 'Failed {}', 'Failed {"repeated":1}']);
});

test('what is no warning is written each time', () => {
  logger.info('Read manifests');
  logger.info('Read manifests');
  expect(lines).toHaveLength(2);
});
