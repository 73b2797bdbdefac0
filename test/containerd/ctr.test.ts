import { execa } from 'execa';
import { expect, test } from 'vitest';
import { reasonOf } from '../../src/containerd/ctr.ts';

test.each([
  ['its last line', 'echo begun >&2; echo "ctr: no such image" >&2; exit 1', 'no such image'],
  ['its exit code, if it says nothing', 'exit 3', "Command failed with exit code 3: sh -c 'exit 3'"],
])('the reason of a failed ctr is %s', async (_what, script, reason) => {
  const error: unknown = await execa('sh', ['-c', script]).catch((thrown: unknown) => thrown);
  expect(reasonOf(error)).toBe(reason);
});

test('the reason of a ctr that cannot be started is that of the system', async () => {
  const error: unknown = await execa('/nonexistent/ctr').catch((thrown: unknown) => thrown);
  expect(reasonOf(error)).toBe('spawn /nonexistent/ctr ENOENT');
});
