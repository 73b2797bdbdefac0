import { describe, expect, test } from 'vitest';
import type { ManifestProblem } from '../../../src/api/text/manifest-problem.ts';
import { problemLines } from '../../../src/engine/listing/problem-lines.ts';

const now = 0;

const problem = (origin: string, severity: ManifestProblem['severity'] = 'error'): ManifestProblem => ({
  origin,
  line: 3,
  severity,
  message: 'is bad',
  hint: 'Correct it.',
});
const warnings = (...origins: string[]): ManifestProblem[] => origins.map((origin) => problem(origin, 'warning'));

describe('problemLines', () => {
  test('prints up to three problems in full, errors first', () => {
    const problems = [...warnings('a.yaml'), problem('b.yaml'), problem('c.yaml')];
    expect(problemLines(problems, now, false)).toEqual([
      'b.yaml:3: error: is bad (Correct it.)',
      'c.yaml:3: error: is bad (Correct it.)',
      'a.yaml:3: warning: is bad (Correct it.)',
    ]);
    expect(problemLines([], now, false)).toEqual([]);
  });

  test('counts more by file, and says how to print each', () => {
    const problems = [...warnings('a.yaml', 'a.yaml', 'b.yaml'), problem('b.yaml')];
    expect(problemLines(problems, now, false)).toEqual([
      'b.yaml: 1 error, 1 warning',
      'a.yaml: 2 warnings',
      'kubelet-ts ps -o wide prints each problem; kubelet-ts validate FILE shows its lines',
    ]);
  });

  test('names five files', () => {
    const problems = [...warnings('a', 'b', 'c', 'd', 'e', 'e'), problem('f'), problem('f')];
    expect(problemLines(problems, now, false)).toEqual([
      'f: 2 errors',
      'a: 1 warning',
      'b: 1 warning',
      'c: 1 warning',
      'd: 1 warning',
      '1 more file: 2 warnings',
      'kubelet-ts ps -o wide prints each problem; kubelet-ts validate FILE shows its lines',
    ]);
  });

  test('prints each problem if all are wanted, and no escape sequence of a file name in any case', () => {
    const problems = Array.from({ length: 60 }, () => problem('\u001b[2J'));
    expect(problemLines(problems, now, true)).toEqual(Array(60).fill('\\x1b[2J:3: error: is bad (Correct it.)'));
    expect(problemLines(problems, now, false)[0]).toBe('\\x1b[2J: 60 errors');
  });
});
