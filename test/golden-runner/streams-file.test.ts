import { afterAll, expect, test } from 'vitest';
import { streamsFile } from './server/streams-file.ts';

const recorded = [
  { name: 'run that prints', status: 200, body: 'out and err' },
  { name: 'run of nothing', status: 200, body: '' },
  { name: 'run that fails', status: 500, body: "command 'sh -c exit 3' exited with 3: it's no\n" },
  { name: 'run that fails in silence', status: 500, body: "command 'false' exited with 1: " },
  { name: 'run unknown command', status: 500, body: 'rpc error: code = Unknown desc = no such file' },
  { name: 'run too long', status: 500, body: 'rpc error: code = ResourceExhausted desc = too large' },
];
const { cases, end } = streamsFile.replay({ cases: recorded });
afterAll(() => end?.());

test.each(cases)('$name is answered as it was recorded', async ({ run }) => {
  expect(await run()).toEqual({ verdict: 'passed' });
});
