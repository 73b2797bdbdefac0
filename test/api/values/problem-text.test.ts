import { describe, expect, test } from 'vitest';
import { problemText } from '../../../src/api/values/problem-text.ts';

describe('a problem on one line', () => {
  test('has as much of its place as is known, and the hint', () => {
    const problem = { origin: '/m/a.yaml', severity: 'error', message: 'must be set' } as const;
    expect(problemText(problem, 0)).toBe('/m/a.yaml: error: must be set');
    expect(problemText({ ...problem, line: 3, column: 5, field: 'spec.x', hint: 'Set it.' }, 0)).toBe(
      '/m/a.yaml:3:5: error: spec.x: must be set (Set it.)',
    );
  });

  test('has the age of the revision that runs instead', () => {
    const message = 'its last good revision runs on';
    const problem = { origin: '/m/a.yaml', severity: 'error', message, lastGoodAt: 1000 } as const;
    expect(problemText(problem, 3 * 3_600_000 + 1000)).toBe(
      '/m/a.yaml: error: its last good revision runs on, read 3h ago',
    );
  });
});
