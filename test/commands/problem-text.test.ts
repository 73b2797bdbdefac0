import { describe, expect, test } from 'vitest';
import { problemText } from '../../src/commands/problem-text.ts';

describe('a problem on one line', () => {
  test('has as much of its place as is known, and the hint', () => {
    const problem = { origin: '/m/a.yaml', severity: 'error', message: 'must be set' } as const;
    expect(problemText(problem)).toBe('/m/a.yaml: error: must be set');
    expect(problemText({ ...problem, line: 3, column: 5, field: 'spec.x', hint: 'Set it.' })).toBe(
      '/m/a.yaml:3:5: error: spec.x: must be set (Set it.)',
    );
  });
});
