import { expand } from '../../../src/api/values/expand.ts';
import { tableAdapter } from '../table-adapter.ts';

export const expansion = tableAdapter<{ input: string; env: Record<string, string> }>('expansion', ({ input, env }) => {
  const variables = new Map(Object.entries(env));
  return { result: expand(input, (name) => variables.get(name)) };
});
