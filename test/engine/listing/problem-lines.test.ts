import { describe, expect, test } from 'vitest';
import type { ManifestProblem } from '../../../src/api/text/manifest-problem.ts';
import { problemLines } from '../../../src/engine/listing/node-warnings.ts';

const now = 0;

const errors = (...origins: string[]): ManifestProblem[] =>
  origins.map((origin) => ({ origin, line: 3, severity: 'error', message: 'is bad', hint: 'Correct it.' }));

describe('problemLines', () => {
  test('prints up to three errors in full', () => {
    expect(problemLines(errors('b.yaml', 'c.yaml', 'a.yaml'), now, false)).toEqual([
      'b.yaml:3: error: is bad (Correct it.)',
      'c.yaml:3: error: is bad (Correct it.)',
      'a.yaml:3: error: is bad (Correct it.)',
    ]);
    expect(problemLines([], now, false)).toEqual([]);
  });

  test('counts more by file, and says how to print each', () => {
    expect(problemLines(errors('b.yaml', 'a.yaml', 'a.yaml', 'b.yaml', 'b.yaml'), now, false)).toEqual([
      'b.yaml: 3 errors',
      'a.yaml: 2 errors',
      'kubelet-ts ps -o wide prints each error; kubelet-ts validate FILE shows its lines',
    ]);
  });

  test('names five files', () => {
    expect(problemLines(errors('f', 'f', 'a', 'b', 'c', 'd', 'e', 'e'), now, false)).toEqual([
      'f: 2 errors',
      'a: 1 error',
      'b: 1 error',
      'c: 1 error',
      'd: 1 error',
      '1 more file: 2 errors',
      'kubelet-ts ps -o wide prints each error; kubelet-ts validate FILE shows its lines',
    ]);
  });

  test('prints each error if all are wanted, and no escape sequence of a file name in any case', () => {
    const many = errors(...Array<string>(60).fill('\u001b[2J'));
    expect(problemLines(many, now, true)).toEqual(Array(60).fill('\\x1b[2J:3: error: is bad (Correct it.)'));
    expect(problemLines(many, now, false)[0]).toBe('\\x1b[2J: 60 errors');
  });
});
