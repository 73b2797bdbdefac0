import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lastNodePaths, recordNodePaths } from '../../src/node/last-node-paths.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('the paths of the last agent are known, and a start with others warns', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'state'));
  const { logger, lines } = lineLogger();
  expect(await lastNodePaths(rootDir, logger)).toBeUndefined();
  for (const cgroupRoot of ['', '', '/other'])
    await recordNodePaths(rootDir, { podLogsDir: '/var/log/pods', cgroupRoot }, logger);
  expect(await lastNodePaths(rootDir, logger)).toEqual({ podLogsDir: '/var/log/pods', cgroupRoot: '/other' });
  expect(lines).toEqual([
    'warn The paths of logs or cgroups changed; leftovers of earlier pods below the old paths are not removed ' +
      '{"podLogsDir":"/var/log/pods","cgroupRoot":""}',
  ]);
});
