import { readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/node/log/create-logger.ts';
import { RotatingFile } from '../../../src/node/log/rotating-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a log continues where it ended, keeps one older part, and is for its owner only', async () => {
  const path = join(await temporaryFolder(), 'agent.log');
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) new RotatingFile({ path, maxBytes: 8 }).write(line);
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.1`, 'utf8')]).toEqual(['three\nfour\n', 'one\ntwo\n']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a log is written on after the disk did not take a part of it', async () => {
  const path = join(await temporaryFolder(), 'agent.log');
  const log = new RotatingFile({ path, maxBytes: 4 });
  log.write('first\n');
  // A folder that is not empty cannot be replaced.
  execFileSync('mkdir', ['-p', `${path}.1/in-the-way`]);
  log.write('lost\n');
  execFileSync('rm', ['-r', `${path}.1`]);
  log.write('second\n');
  expect(readFileSync(path, 'utf8')).toBe('second\n');
});

test('a log that is a pipe or a link is refused and not followed', async () => {
  const folder = await temporaryFolder();
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'elsewhere'), link);
  expect(() => new RotatingFile({ path: pipe, maxBytes: 8 })).toThrow(/ENXIO|no regular file/);
  expect(() => new RotatingFile({ path: link, maxBytes: 8 })).toThrow('ELOOP');
});

test.each([
  [-1, false],
  [0, true],
])('the log of an agent that is %i bytes larger than 8 MiB moves away: %s', async (more, moves) => {
  const logFile = join(await temporaryFolder(), 'kubelet-ts.log');
  writeFileSync(logFile, '');
  truncateSync(logFile, 8 * 1024 * 1024 + more);
  const { logger } = await createLogger('text', 'info', { logFile });
  logger.info('a line');
  expect(statSync(logFile).size < 1000).toBe(moves);
  expect(statSync(`${logFile}.1`, { throwIfNoEntry: false })?.size).toBe(moves ? 8 * 1024 * 1024 : undefined);
});
