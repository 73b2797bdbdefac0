import { expect, test } from 'vitest';
import { ProblemList } from '../../../src/api/text/problem-list.ts';

const origin = '/manifests/web.yaml';

test('shows the first 200 errors and warnings each, and counts the rest', () => {
  const problems = new ProblemList();
  for (let index = 0; index < 250; index++) {
    problems.add({ origin, message: `error ${index}`, severity: 'error' });
    problems.add({ origin, message: `warning ${index}`, severity: 'warning' });
  }
  const shown = problems.list(origin);
  expect(shown).toHaveLength(401);
  expect(shown.slice(-2)).toEqual([
    { origin, message: 'warning 199', severity: 'warning' },
    { origin, message: '100 more problems are not shown', notShown: 100, severity: 'error' },
  ]);
});

test('what lists of single objects left out is counted in one entry', () => {
  const problems = new ProblemList();
  problems.add({ origin, message: 'bad', severity: 'error' });
  for (const count of [30, 12]) {
    problems.add({ origin, line: 3, message: `${count} more`, notShown: count, severity: 'warning' });
  }
  expect(problems.list(origin)).toEqual([
    { origin, message: 'bad', severity: 'error' },
    { origin, message: '42 more problems are not shown', notShown: 42, severity: 'error' },
  ]);
});

test('cuts what a manifest made too long', () => {
  const problems = new ProblemList();
  problems.add({
    origin,
    field: 'f'.repeat(1000),
    message: 'm'.repeat(1000),
    hint: 'h'.repeat(1000),
    severity: 'error',
  });
  expect(problems.list(origin)).toEqual([
    {
      origin,
      field: `${'f'.repeat(400)}…`,
      message: `${'m'.repeat(400)}…`,
      hint: `${'h'.repeat(400)}…`,
      severity: 'error',
    },
  ]);
});

test('has nothing to show of nothing', () => {
  const problems = new ProblemList();
  expect([problems.isEmpty, problems.list(origin)]).toEqual([true, []]);
});
