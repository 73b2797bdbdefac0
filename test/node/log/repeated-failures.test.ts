import { beforeEach, describe, expect, test } from 'vitest';
import { eachFailureOnce, withGrowingIntervals } from '../../../src/node/log/repeated-failures.ts';
import { RpcError } from '../../../src/errors.ts';
import type { Logger } from '../../../src/logger.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

describe('a failure that comes again and again', () => {
  let clock: FakeClock;
  let lines: unknown[];
  let plain: Logger;
  let logger: Logger;

  beforeEach(() => {
    clock = new FakeClock();
    lines = [];
    const write =
      (level: string) =>
      (facts: unknown, message?: string): void => {
        lines.push([level, facts, message]);
      };
    plain = {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: () => plain,
    };
    logger = withGrowingIntervals(plain, clock);
  });

  /** The failure every second, for so long. */
  async function everySecond(seconds: number, fail: (second: number) => void): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      fail(second);
      await clock.advance(1000);
    }
  }

  test('gets a line at once, then after 10 s, 20 s, 40 s and so on, with how often it came meanwhile', async () => {
    await everySecond(80, () => {
      logger.warn({ pod: 'default/web', err: 'no' }, 'Error syncing pod, skipping');
    });
    const facts = { pod: 'default/web', err: 'no' };
    expect(lines).toEqual(
      [undefined, 9, 19, 39].map((repeated) => [
        'warn',
        repeated === undefined ? facts : { ...facts, repeated },
        'Error syncing pod, skipping',
      ]),
    );
  });

  test('gets a line every hour at least', async () => {
    for (let minute = 0; minute < 24 * 60; minute++) {
      logger.error({ err: 'no' }, 'Relist of the runtime failed');
      await clock.advance(60_000);
    }
    expect(lines.length).toBe(32);
  });

  test('is the same with another id, time or waiting time in it', async () => {
    await everySecond(5, (second) => {
      const id = String(second).repeat(64);
      logger.warn({ err: `sandbox ${id} is busy, after ${second}.5s`, retryInMs: second }, `Tried ${id}`);
    });
    expect(lines.length).toBe(1);
  });

  test('of another pod, with another text or of another part is another one', () => {
    logger.warn({ pod: 'default/web-1', err: 'no' }, 'Failed');
    logger.warn({ pod: 'default/web-2', err: 'no' }, 'Failed');
    logger.warn({ pod: 'default/web-2', err: 'the server answered 404' }, 'Failed');
    logger.warn({ pod: 'default/web-2', err: 'the server answered 500' }, 'Failed');
    logger.child({ component: 'gc' }).warn({ pod: 'default/web-2', err: 'no' }, 'Failed');
    expect(lines.length).toBe(5);
  });

  test('that was over for ten minutes is a new one', async () => {
    await everySecond(60, () => {
      logger.warn('Failed');
    });
    lines.length = 0;
    await clock.advance(601_000);
    logger.warn('Failed');
    logger.warn('Failed');
    expect(lines).toEqual([['warn', {}, 'Failed']]);
  });

  test('is a back-off too, and not another failure', async () => {
    await everySecond(5, () => {
      logger.info({ reason: 'BackOff' }, 'Back-off pulling image "app:1"');
      logger.info({ phase: 'Running' }, 'Pod status');
    });
    expect(lines.length).toBe(6);
  });

  test('has a stack only when it is a bug', () => {
    const bug = new TypeError('x is undefined');
    const busy = Object.assign(new Error('busy'), { code: 'EBUSY', syscall: 'umount' });
    for (const err of [new RpcError('StopPodSandbox', 2, 'refused'), busy, bug]) logger.error({ err }, 'Failed');
    expect(lines).toEqual(['refused', 'busy', bug].map((err) => ['error', { err }, 'Failed']));
  });

  test('gets one line in the log of a single run', async () => {
    const once = eachFailureOnce(plain, clock);
    await everySecond(3600, () => {
      once.warn({ pod: 'default/web' }, 'Failed to pull image');
    });
    expect(lines.length).toBe(1);
  });

  test('is dropped after a thousand others', () => {
    logger.warn('Failed');
    for (let pod = 0; pod < 1000; pod++) logger.warn({ pod: `web-${pod}` }, 'Failed');
    lines.length = 0;
    logger.warn('Failed');
    expect(lines.length).toBe(1);
  });
});
