import { expect, test } from 'vitest';
import { gitHubGuard } from '../../../src/commands/run-once/github-guard.ts';

test.each([
  ['::error::x', String.raw`\::error::x`],
  [' \t\u00a0\u0085\ufeff::add-mask::e', ' \t\u00a0\u0085\ufeff\\::add-mask::e'],
  ['50%\r::endgroup::', '50%\r\\::endgroup::'],
  ['\r\r \r ::endgroup::', '\r\r \r \\::endgroup::'],
  ['x ##[error]y', String.raw`x ##\[error]y`],
  ['fd00::1 is up', 'fd00::1 is up'],
  ['std::vector', 'std::vector'],
])('the line %j of a container is %j on GitHub, which has no effect', (line, shown) => {
  expect(gitHubGuard.line(Buffer.from(line)).toString()).toBe(shown);
});

test('other bytes stay as they are', () => {
  const line = Buffer.from([0xff, 0x3a, 0x3a, 0xfe]);
  expect(gitHubGuard.line(line)).toEqual(line);
});

/** A step for each pair of 250,000 characters would take half a minute. */
const maxCPUMs = 5000;

test.each(['\r', ' ', '\r ', '\u0085', '::', '\r::', '##['])(
  'a line of 250,000 times %j takes less than five seconds of CPU',
  (part) => {
    const line = Buffer.from(`${part.repeat(250_000)}a::b`);
    const since = process.cpuUsage();
    gitHubGuard.line(line);
    expect(process.cpuUsage(since).user / 1000).toBeLessThan(maxCPUMs);
  },
);

test('each line of a text is changed', () => {
  expect(gitHubGuard.text('a\n  ::error::b\n')).toBe('a\n  \\::error::b\n');
});

test('JSON has no command, and the same value', () => {
  const value = { message: '###[set-output name=x]y', log: '::error::x\n##[##[group]' };
  const safe = gitHubGuard.json(JSON.stringify(value, undefined, 2));
  expect(safe.split('\n')).toEqual([
    '{',
    String.raw`  "message": "###\u005bset-output name=x]y",`,
    String.raw`  "log": "::error::x\n##\u005b##\u005bgroup]"`,
    '}',
  ]);
  expect(JSON.parse(safe)).toEqual(value);
});
