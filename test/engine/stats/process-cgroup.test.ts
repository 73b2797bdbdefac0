import { expect, test } from 'vitest';
import { parseProcessCgroup } from '../../../src/engine/stats/process-cgroup.ts';

test.each([
  ['3:memory:/system.slice/a.service\n2:cpu,cpuacct:/system.slice/a.service\n0::/\n', '/system.slice/a.service'],
  ['0::/system.slice/a.service\n', '/system.slice/a.service'],
  ['0::/\n', undefined],
  ['4:memory:/a\n3:cpuacct:/\n', undefined],
  ['', undefined],
])('the cgroup of a process in %j is %j', (text, expected) => {
  expect(parseProcessCgroup(text)).toBe(expected);
});
