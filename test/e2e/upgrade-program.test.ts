import { copyFile, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { awaitHealth } from '../../src/node/upgrade/await-health.ts';
import { guardScript } from '../../src/node/upgrade/guard-script.ts';
import { markText, programFiles } from '../../src/node/upgrade/program-files.ts';
import { mountSmallDisk } from '../support/full-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Agent, type CommandResult } from './agent.ts';
import { buildExecutable, executable } from './built-executable.ts';
import { deadlineMs } from './deadline.ts';
import { makePod, serve, shell } from './manifests.ts';

let folder: string;
/** The program of the agent, and another release: a byte longer. */
let program: string;
let release: string;
let agent: Agent;

beforeAll(async () => {
  await buildExecutable();
  folder = await mkdtemp('/tmp/kts-upgrade-');
  [program, release] = [join(folder, 'kubelet-ts'), join(folder, 'release')];
  await copyFile(executable, program);
  await copyFile(executable, release);
  await execa('sh', ['-c', 'echo >> "$0"', release]);
  agent = await Agent.create({ program });
  await agent.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
  await agent.start();
  await agent.untilReady('web');
});
afterAll(async () => {
  await agent.cleanUp();
  await rm(folder, { recursive: true });
});

const upgrade = (...words: string[]): Promise<CommandResult> => agent.cli(['upgrade', ...words]);
const files = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith('kubelet-ts'));
const version = async (): Promise<string> => (await execa(executable, ['--version'])).stdout.split(/[ ,]/)[1] ?? '';

test('--check reports what would happen, and changes nothing', async () => {
  const own = await version();
  expect(await upgrade(release, '--check')).toEqual({
    code: 0,
    stdout:
      `kubelet-ts ${own} runs on this machine, and reads the state of ${agent.rootDir}\n` +
      `Would replace ${program}, keep ${own} as ${program}.previous, and restart:\n` +
      'nothing, because no service runs it\n',
    stderr: '',
  });
  expect(await files()).toEqual(['kubelet-ts']);
  expect(await upgrade(executable)).toEqual({ code: 0, stdout: `${program} is this program already\n`, stderr: '' });
});

const broken: [string, (file: string) => Promise<unknown>, string][] = [
  [
    'a file cut in half',
    (file) => copyFile(release, file).then(() => truncate(file, 50_000_000)),
    'is cut off: it has',
  ],
  ['a script', (file) => writeFile(file, '#!/bin/sh\n'.padEnd(100, '#')), 'is not an executable of Linux'],
  ['another program', (file) => copyFile('/bin/true', file), 'is not kubelet-ts'],
  ['a program that fails', (file) => copyFile('/bin/false', file), 'does not run on this machine'],
  [
    'a wrong checksum',
    (file) => copyFile(release, file).then(() => writeFile(`${file}.sha256`, '0'.repeat(64))),
    'is damaged',
  ],
  ['no file', () => Promise.resolve(), 'no such file'],
];

test.each(broken)('%s is refused before anything changes', async (_what, make, message) => {
  const file = join(await temporaryFolder(), 'new');
  await make(file);
  const { code, stdout, stderr } = await upgrade(file);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: .*\n(hint: .*\n)?$/);
  expect(stderr).toContain(message);
  expect(await files()).toEqual(['kubelet-ts']);
});

test('a disk without room for the new program keeps the old one', async () => {
  const small = await temporaryFolder();
  await mountSmallDisk(small, 150_000);
  const own = join(small, 'kubelet-ts');
  await copyFile(executable, own);
  const { exitCode, stdout, stderr } = await execa(own, ['upgrade', release, '--root-dir', agent.rootDir], {
    reject: false,
  });
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      `error: ${own}.next cannot be written: no space left on device\n` +
      `hint: The program that runs now stays. Make room, or make ${small} writable, then run the command again.`,
  });
  expect(await readdir(small)).toEqual(['kubelet-ts']);
});

test('state that the release does not read is refused, unless it is forced', async () => {
  const format = join(agent.rootDir, 'state/format');
  const before = await readFile(format, 'utf8');
  expect(before).toBe('1\n');
  await writeFile(format, '2\n');
  const own = await version();
  const { code, stderr } = await upgrade(release, '--check');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      `error: the state in ${agent.rootDir} has format 2, and kubelet-ts ${own} reads up to 1\n` +
      'hint: To replace it anyway: --force. Then pods that you stopped may start again, and revisions may be lost.\n',
  });
  expect((await upgrade(release, '--check', '--force')).code).toBe(0);
  await writeFile(format, before);
});

test('the agent becomes the new release while its pod runs on', async () => {
  const own = await version();
  const web = await agent.runningContainer('web');
  expect(await upgrade(release)).toEqual({
    code: 0,
    stdout:
      `kubelet-ts ${own} runs on this machine, and reads the state of ${agent.rootDir}\n` +
      `Replaced ${program}. ${own} is kept as ${program}.previous\n` +
      `No service runs it. Restart your agent, which becomes kubelet-ts ${own}; its pods keep running\n`,
    stderr: '',
  });
  expect(await files()).toEqual(['kubelet-ts', 'kubelet-ts.pending-3', 'kubelet-ts.previous']);
  expect((await readFile(program)).equals(await readFile(release))).toBe(true);
  await agent.stop();
  await agent.start();
  expect(await awaitHealth(program, AbortSignal.timeout(deadlineMs))).toBe('healthy');
  await agent.untilReady('web');
  expect(await agent.runningContainer('web')).toEqual(web);
  expect(await files()).toEqual(['kubelet-ts', 'kubelet-ts.previous']);
});

test('a release that exits at once is undone, which event, log and doctor say', async () => {
  const web = await agent.runningContainer('web');
  const { guard, pending } = programFiles(program);
  await agent.stop();
  await copyFile(program, programFiles(program).previous);
  await rm(program);
  await symlink('/bin/false', program);
  await writeFile(guard, guardScript);
  await writeFile(pending(3), markText('0.1.0', '0.2.0'));
  // As a service starts it again and again.
  const start = (): Promise<{ exitCode?: number }> =>
    execa('sh', [guard, program, program, '--version'], { reject: false });
  for (const exitCode of [1, 1, 1, 0]) expect(await start()).toMatchObject({ exitCode });
  expect(await files()).toEqual(['kubelet-ts', 'kubelet-ts.guard', 'kubelet-ts.restored']);
  await agent.start();
  const message = 'The upgrade from 0.1.0 to 0.2.0 was undone, because it did not become healthy in three starts';
  await agent.waitForLog(({ reason, msg }) => reason === 'UpgradeUndone' && msg === message);
  expect((await agent.cli(['doctor'])).stdout).toContain(`! upgrade        ${message}`);
  await agent.untilReady('web');
  expect(await agent.runningContainer('web')).toEqual(web);
});
