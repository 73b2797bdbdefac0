import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runtimeFlags, screenCommands } from '../../../src/commands/run/run-commands.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Makes this program one that writes its process group into a file. Returns the file. */
async function groupTeller(): Promise<string> {
  const folder = await temporaryFolder();
  const program = join(folder, 'program.cjs');
  const group = "readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')[2]";
  await writeFile(
    program,
    `const { readFileSync, writeFileSync } = require('node:fs');
writeFileSync(process.argv[2], ${group} === String(process.pid) ? 'its own' : 'that of the screen');`,
  );
  const [, own = ''] = process.argv;
  process.argv[1] = program;
  onTestFinished(() => void (process.argv[1] = own));
  return join(folder, 'group');
}

test('keys of the terminal signal a command that has it, and none of those behind the screen', async () => {
  const file = await groupTeller();
  const commands = screenCommands([]);
  const codes = [(await commands.onTerminal([file])).exitCode];
  const groups = [await readFile(file, 'utf8')];
  codes.push(await commands.start([file], () => undefined).ended);
  groups.push(await readFile(file, 'utf8'));
  expect({ codes, groups }).toEqual({ codes: [0, 0], groups: ['that of the screen', 'its own'] });
});

test.each([
  ['/var/lib/kubelet-ts', undefined, []],
  ['/var/lib/kubelet-ts', '', []],
  ['/var/lib/kubelet-ts', '/var/lib/kubelet-ts/', []],
  ['/var/lib/kubelet-ts', '/srv/state', ['--root-dir', '/var/lib/kubelet-ts']],
  ['/srv/state', '/srv/state', ['--root-dir', '/srv/state']],
])('a command for the root-dir %s with the variable %j has the flags %j', (rootDir, variable, flags) => {
  vi.stubEnv('KUBELET_TS_ROOT_DIR', variable);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(runtimeFlags({ rootDir, runtimeEndpoint: undefined })).toEqual(flags);
});
