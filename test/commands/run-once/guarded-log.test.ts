import { expect, test } from 'vitest';
import { gitHubGuard } from '../../../src/commands/run-once/github-guard.ts';
import { guardedLog } from '../../../src/commands/run-once/guarded-log.ts';
import type { Logger } from '../../../src/logger.ts';

/** A guarded log, and what it writes. */
function recordedLog() {
  const entries: unknown[] = [];
  const at =
    (level: string) =>
    (facts: unknown, message?: string): void => {
      entries.push({ level, facts, message });
    };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return { log: guardedLog(logger, gitHubGuard), logger, entries };
}

test('no text of an entry is a command, however deep it is', () => {
  const { log, entries } = recordedLog();
  const facts = { pod: 'default/web', reasons: ['##[error]x', 2], fields: { a: '::error::x', b: undefined, c: null } };
  log.child({ component: 'kubelet' }).warn(facts, 'Readiness probe failed: ##[stop-commands]x');
  log.error('::error::x');
  expect(entries).toEqual([
    {
      level: 'warn',
      facts: {
        pod: 'default/web',
        reasons: [String.raw`##\[error]x`, 2],
        fields: { a: String.raw`\::error::x`, b: undefined, c: null },
      },
      message: String.raw`Readiness probe failed: ##\[stop-commands]x`,
    },
    { level: 'error', facts: String.raw`\::error::x`, message: undefined },
  ]);
});

test('an error stays, and is a text if it or its cause quotes a command', () => {
  const { log, entries } = recordedLog();
  const bug = new TypeError('x is undefined');
  log.error({ err: bug }, 'Failed');
  log.error({ err: new Error('failed', { cause: new Error('said ##[error]x') }) }, 'Failed');
  expect(entries).toEqual([
    { level: 'error', facts: { err: bug }, message: 'Failed' },
    {
      level: 'error',
      facts: { err: expect.stringMatching(/^Error: failed\n[^]*\[cause\]: Error: said ##\\\[error\]x\n/) as string },
      message: 'Failed',
    },
  ]);
});

test('without a guard the log is as it was', () => {
  const { logger } = recordedLog();
  expect(guardedLog(logger, undefined)).toBe(logger);
});
