import { expect, test } from 'vitest';
import { expand } from '../../src/api/expand.ts';
import { loadTable } from '../golden-tables.ts';

interface Expansion {
  input: string;
  env: Record<string, string>;
}

// The original damages a character after "$" that is not ASCII; those cases have no result as text.
const cases = loadTable<Expansion, { result?: string }>('expansion').filter(({ out }) => out.result !== undefined);

test.each(cases)('expands "$in.input" as the kubelet does', ({ in: { env, input }, out }) => {
  const variables = new Map(Object.entries(env));
  expect(expand(input, (name) => variables.get(name))).toBe(out.result);
});
