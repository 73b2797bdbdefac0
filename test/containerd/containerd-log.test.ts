import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cutLog, readLastLines, rotateLog } from '../../src/containerd/containerd-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';

test('a long log is moved away at a start', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, 'long');
  await rotateLog(log, 4);
  expect(await readFile(log, 'utf8')).toBe('long');
  await rotateLog(log, 3);
  expect(await readFile(`${log}.1`, 'utf8')).toBe('long');
  await rotateLog(log, 3);
});

test('a long log of a running containerd is emptied in place', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, 'long');
  await cutLog(log, 3);
  await appendFile(log, 'new');
  expect([await readFile(`${log}.1`, 'utf8'), await readFile(log, 'utf8')]).toEqual(['long', 'new']);
});

test('the last lines are those of this start', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  expect(await readLastLines(log)).toEqual([]);
  await writeFile(log, 'before\none\n\ntwo\nthree\n');
  expect(await readLastLines(log, { fromByte: 7 })).toEqual(['one', 'two', 'three']);
  expect(await readLastLines(log, { fromByte: 7, lines: 2 })).toEqual(['two', 'three']);
  expect(await readLastLines(log, { fromByte: 10_000 })).toEqual([]);
});
