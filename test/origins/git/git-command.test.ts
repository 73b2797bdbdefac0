import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../src/origins/git/git-command.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

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
