import { expect, test } from 'vitest';
import type { ManifestProblem } from '../../../src/api/text/manifest-problem.ts';
import { problemReport } from '../../../src/commands/io/problem-report.ts';

const unknown: ManifestProblem = {
  origin: '/srv/pods/web.yaml',
  line: 2,
  column: 3,
  field: 'spec.imagee',
  message: 'Unknown field "imagee" is ignored',
  hint: 'Did you mean "image"?',
  severity: 'warning',
};
const options = { textOf: () => 'spec:\n  imagee: busybox\n', folder: '/srv', isColoured: false };

test('says where, what and what to do, with the line in question', () => {
  expect(problemReport(unknown, options)).toBe(
    [
      'pods/web.yaml:2:3: warning: spec.imagee: Unknown field "imagee" is ignored',
      '    2 |   imagee: busybox',
      '      |   ^~~~~~',
      '  hint: Did you mean "image"?',
      '',
    ].join('\n'),
  );
});

test('says what it knows of a problem with a whole file', () => {
  const problem: ManifestProblem = { origin: '/etc/pods/a.yaml', message: 'is too large', severity: 'error' };
  expect(problemReport(problem, options)).toBe('/etc/pods/a.yaml: error: is too large\n');
});

test('leaves the line out when its text is missing', () => {
  const report = problemReport({ ...unknown, origin: '<stdin>' }, { ...options, textOf: () => undefined });
  expect(report).toBe(
    '<stdin>:2:3: warning: spec.imagee: Unknown field "imagee" is ignored\n  hint: Did you mean "image"?\n',
  );
});

test('is coloured on a terminal', () => {
  const lines = problemReport(unknown, { ...options, isColoured: true }).split('\n');
  expect(lines).toEqual([
    '\u001b[1mpods/web.yaml:2:3:\u001b[22m \u001b[1m\u001b[33mwarning:\u001b[39m\u001b[22m spec.imagee: Unknown field "imagee" is ignored',
    '    2 |   imagee: busybox',
    '\u001b[33m      |   ^~~~~~\u001b[39m',
    '  \u001b[36mhint:\u001b[39m Did you mean "image"?',
    '',
  ]);
});
