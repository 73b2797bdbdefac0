import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/node/log/create-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a level that is set later is also that of the logs that were made before', async () => {
  const logFile = join(await temporaryFolder(), 'log');
  const { logger, setLevel } = await createLogger('json', 'info', { logFile });
  const child = logger.child({ component: 'pleg' });
  child.debug('Left out');
  setLevel('debug');
  child.debug('Shown');
  setLevel('warn');
  child.info('Left out again');
  child.warn('The last one');
  const lines = (await readFile(logFile, 'utf8')).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['Shown', 'The last one']);
});
