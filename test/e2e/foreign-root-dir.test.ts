import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makePod, serve, shell } from './manifests.ts';
import { program } from './program.ts';

const nobody = 65_534;

test('no command works with a root-dir that another user prepared', async () => {
  const top = await temporaryFolder();
  await chmod(top, 0o1777);
  const rootDir = join(top, 'r3');
  await mkdir(join(rootDir, 'applied'), { recursive: true });
  const manifest = join(rootDir, 'applied/pod.json');
  await writeFile(manifest, JSON.stringify(makePod('evil', { containers: [shell('app', serve)] })));
  for (const path of [rootDir, join(rootDir, 'applied'), manifest]) await chown(path, nobody, nobody);
  const commands = [
    ['run', '--no-tui'],
    ['run-once', manifest],
    ['ps', '-o', 'wide'],
    ['ps'],
    ['apply', '-f', manifest],
    ['exec', 'evil', '--', 'true'],
    ['checkpoint', 'evil', '-c', 'app'],
    ['down', '--all'],
  ];
  for (const [name = '', ...words] of commands) {
    const { exitCode, stdout, stderr } = await execa(program, [name, '--root-dir', rootDir, ...words], {
      reject: false,
    });
    const [error] = stderr.split('\n');
    expect({ name, exitCode, stdout, error }).toEqual({
      name,
      exitCode: 1,
      stdout: '',
      error: `error: the root-dir cannot be trusted: ${rootDir} belongs to user ${nobody}`,
    });
  }
});
