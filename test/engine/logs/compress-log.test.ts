import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { OpenFolder } from '../../../src/engine/host/open-folder.ts';
import { compressLog } from '../../../src/engine/logs/compress-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a large log is compressed whole, with few bytes in memory', async () => {
  const path = await temporaryFolder();
  const folder = await OpenFolder.open(path);
  onTestFinished(() => folder.close());
  const lines = Array.from(
    { length: 160_000 },
    (_, line) => `2026-11-26T00:00:00Z stdout F line ${line} ${'y'.repeat(60)}`,
  );
  const content = Buffer.from(lines.join('\n'));
  await writeFile(join(path, '0.log.20261126-000000'), content);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }, 1);
  await compressLog(folder, '0.log.20261126-000000', new AbortController().signal);
  clearInterval(watch);
  expect(gunzipSync(await readFile(join(path, '0.log.20261126-000000.gz'))).equals(content)).toBe(true);
  expect(most).toBeLessThan(content.length / 10);
});

test.each([0o600, 0o640, 0o644])(
  'nobody can read a compressed log who could not read it before: mode %i',
  async (mode) => {
    const path = await temporaryFolder();
    const folder = await OpenFolder.open(path);
    onTestFinished(() => folder.close());
    await writeFile(join(path, '0.log.20261126-000000'), 'line');
    await chmod(join(path, '0.log.20261126-000000'), mode);
    await compressLog(folder, '0.log.20261126-000000', new AbortController().signal);
    expect((await stat(join(path, '0.log.20261126-000000.gz'))).mode & 0o777).toBe(mode);
  },
);
