import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyArchiveChecksum } from '../../src/containerd/archive-checksum.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** An archive with the content `a`, and a checksum beside it. */
async function archiveWith(checksum?: string): Promise<string> {
  const file = join(await temporaryFolder(), 'app.tar');
  await writeFile(file, 'a');
  if (checksum !== undefined) await writeFile(`${file}.sha256`, checksum);
  return file;
}

const ofA = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

test.each([undefined, `${ofA}  app.tar\n`, `${ofA.toUpperCase()} *app.tar`, ofA])(
  'an archive fits no checksum, or its own (%j)',
  async (checksum) => {
    await expect(verifyArchiveChecksum(await archiveWith(checksum))).resolves.toBeUndefined();
  },
);

test('a wrong checksum is an error whose hint says how to fix it', async () => {
  const file = await archiveWith(`${'0'.repeat(64)}  app.tar\n`);
  await expect(verifyArchiveChecksum(file)).rejects.toMatchObject({
    name: 'UserError',
    message: `the image archive ${file} is damaged: its SHA-256 is ${ofA}, not ${'0'.repeat(64)}`,
    hint: 'Copy app.tar again. If it was changed on purpose: sha256sum app.tar > app.tar.sha256',
  });
});

test.each(['', 'none', ofA.slice(1), `${ofA}0`])('a file without a checksum (%j) is an error', async (text) => {
  const file = await archiveWith(text);
  await expect(verifyArchiveChecksum(file)).rejects.toMatchObject({
    message: `${file}.sha256 holds no SHA-256 checksum`,
    hint: 'Write it: sha256sum app.tar > app.tar.sha256',
  });
});

test.each(['app.tar', 'app.tar.sha256'])('a named pipe %s is an error, and is not waited for', async (name) => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'app.tar.sha256'), ofA);
  execFileSync('rm', ['-f', join(folder, name)]);
  execFileSync('mkfifo', [join(folder, name)]);
  await expect(verifyArchiveChecksum(join(folder, 'app.tar'))).rejects.toThrow(
    `${join(folder, name)} is not a regular file`,
  );
});
