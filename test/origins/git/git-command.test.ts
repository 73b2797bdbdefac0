import { readFile, watch, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { git, raiseScore } from '../../../src/origins/git/git-command.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a cancelled command ends with the programs that it started', async () => {
  const folder = await temporaryFolder();
  const controller = new AbortController();
  const started = (async () => {
    for await (const { filename } of watch(folder, { signal: controller.signal })) if (filename === 'started') return;
  })();
  // The child keeps the output open for ten minutes.
  const hang = `alias.hang=!sleep 600 & touch ${join(folder, 'started')}; wait`;
  const running = git(['-c', hang, 'hang'], { protocol: 'https', signal: controller.signal });
  running.catch(() => undefined);
  await started;
  controller.abort(new Error('the agent stops'));
  await expect(running).rejects.toThrow('the agent stops');
});

test('a file that git writes has at most 256 MiB', async () => {
  const limit = await git(['-c', 'alias.limit=!ulimit -f', 'limit'], {
    protocol: 'https',
    signal: new AbortController().signal,
  });
  // In blocks of 512 bytes.
  expect(Number(limit) * 512).toBe(256 * 1024 * 1024);
});

/** Output of a shell that git starts. */
async function outputOf(script: string): Promise<string> {
  const signal = new AbortController().signal;
  return (await git(['-c', `alias.script=!${script}`, 'script'], { protocol: 'https', signal })).toString();
}

test('output beyond its limit is that of no manifests', async () => {
  const signal = new AbortController().signal;
  const running = git(['-c', 'alias.print=!printf 12345', 'print'], { protocol: 'https', signal, maxOutputBytes: 4 });
  await expect(running).rejects.toMatchObject({
    kind: 'is no manifest',
    message: 'git printed more than a repository of manifests has',
    hint: 'Name a folder with fewer files: …//FOLDER',
  });
});

test('git has limits of memory', async () => {
  // In KiB.
  expect(await outputOf('ulimit -d; echo $GIT_ALLOC_LIMIT')).toBe(`${512 * 1024}\n128m\n`);
});

test('git has the oom_score_adj of an agent without a lower one than other programs', async () => {
  const path = '/proc/self/oom_score_adj';
  const before = await readFile(path, 'utf8');
  onTestFinished(() => writeFile(path, before));
  await writeFile(path, '100');
  expect(await outputOf(`cat ${path}`)).toBe('100\n');
});

test.each([
  ['-999', '0\n'],
  ['-1', '0\n'],
  ['0', '0\n'],
  ['100', '100\n'],
])('an oom_score_adj of %s is %j for git', async (own, raised) => {
  // To lower that of a process takes a right that containers and some machines lack.
  const path = join(await temporaryFolder(), 'oom_score_adj');
  await writeFile(path, `${own}\n`);
  await execa('/bin/sh', ['-c', `${raiseScore(path)}; true`]);
  expect(await readFile(path, 'utf8')).toBe(raised);
});
