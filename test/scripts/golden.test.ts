import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = join(import.meta.dirname, '../../scripts/golden');

test('npm run golden prints every case with another result, its first difference, and the number of cases', async () => {
  const file = join(await temporaryFolder(), 'duration.json');
  const zero = { in: { json: '"0"' }, out: { nanoseconds: '0', ok: true, string: '0s' } };
  const wrong = { in: { json: '"1.5h"' }, out: { nanoseconds: '1', ok: true, string: 'x'.repeat(400) } };
  await writeFile(file, JSON.stringify({ table: 'duration', cases: [zero, wrong] }));
  const { exitCode, stdout } = await execa(script, [file], { reject: false });
  expect({ exitCode, stdout }).toEqual({
    exitCode: 1,
    stdout: `${file} 1: nanoseconds: expected "1", got "5400000000000"\n1 passed, 1 failed`,
  });
});
