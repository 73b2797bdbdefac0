import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = new URL('../../scripts/test', import.meta.url).pathname;

/** Runs `scripts/test` in a clone whose checks and tests end with these codes. */
async function run(codes: { checks: number; tests: number }): Promise<object> {
  const folder = await temporaryFolder();
  const programs = {
    'scripts/setup': 'exit 0',
    'scripts/generate': 'exit 0',
    'scripts/check': `echo 'a check says something'; exit ${codes.checks}`,
    'node_modules/.bin/vitest': `echo '2 passed, ${codes.tests} failed, 0 skipped'; exit ${codes.tests}`,
  };
  for (const [name, text] of Object.entries(programs)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  await writeFile(join(folder, 'scripts/build.mjs'), '');
  await cp(script, join(folder, 'scripts/test'));
  const { exitCode, stdout, stderr } = await execa(join(folder, 'scripts/test'), { reject: false });
  return { exitCode, stdout, stderr };
}

test('the result is that of the tests if the checks pass', async () => {
  expect(await run({ checks: 0, tests: 0 })).toEqual({
    exitCode: 0,
    stdout: '2 passed, 0 failed, 0 skipped',
    stderr: '',
  });
  expect(await run({ checks: 0, tests: 1 })).toEqual({
    exitCode: 1,
    stdout: '2 passed, 1 failed, 0 skipped',
    stderr: '',
  });
});

test('checks that fail are a failure, with their output, also if all tests pass', async () => {
  expect(await run({ checks: 1, tests: 0 })).toEqual({
    exitCode: 1,
    stdout: [
      '2 passed, 0 failed, 0 skipped',
      'a check says something',
      'the checks failed',
      '',
      '0 passed, 1 failed, 0 skipped',
    ].join('\n'),
    stderr: '',
  });
});
