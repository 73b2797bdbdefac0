import { expect, test } from 'vitest';
import { findingsText, isUnicode } from '../../../src/commands/doctor/findings-text.ts';
import { paint } from '../../../src/commands/io/paint.ts';
import type { Finding } from '../../../src/node/doctor/checks/finding.ts';

const findings: Finding[] = [
  { check: 'kernel', level: 'ok', evidence: 'Linux 6.1' },
  { check: 'swap', level: 'problem', evidence: 'is on\x1b[31m', fix: 'swapoff -a' },
  { check: 'clock', level: 'warning', evidence: 'was set', fix: 'chronyc tracking' },
  { check: 'rights', level: 'unseen', evidence: 'only root can see this' },
];

test('shows a mark, the check, the evidence and the fix, without control characters', () => {
  expect(findingsText(findings, { painted: paint(false), hasUnicode: true })).toBe(`✓ kernel  Linux 6.1
✗ swap    is on\\x1b[31m
          → swapoff -a
! clock   was set
          → chronyc tracking
? rights  only root can see this
1 problem, 1 warning, 1 ok, 1 not checked
`);
});

test('evidence of several lines is one line', () => {
  const finding = {
    check: 'swap',
    level: 'problem',
    evidence: 'is on\n/dev/sda2\n/dev/sdb2',
    fix: 'swapoff -a',
  } as const;
  expect(findingsText([finding], { painted: paint(false), hasUnicode: true })).toBe(`✗ swap  is on; /dev/sda2; /dev/sdb2
        → swapoff -a
1 problem, 0 warnings, 0 ok
`);
});

test('has ASCII marks without UTF-8', () => {
  expect(findingsText(findings, { painted: paint(false), hasUnicode: false })).toBe(`ok kernel  Linux 6.1
X  swap    is on\\x1b[31m
           -> swapoff -a
!  clock   was set
           -> chronyc tracking
?  rights  only root can see this
1 problem, 1 warning, 1 ok, 1 not checked
`);
});

test.each([
  [{ LANG: 'C.UTF-8' }, true],
  [{ LANG: 'de_DE.utf8', LC_ALL: '' }, true],
  [{ LANG: 'C.UTF-8', LC_ALL: 'C' }, false],
  [{}, false],
])('the locale of %j is UTF-8: %s', (env, expected) => {
  expect(isUnicode(env)).toBe(expected);
});
