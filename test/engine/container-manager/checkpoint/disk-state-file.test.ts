import { mkdir, readdir, readFile, rmdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  DiskStateFile,
  startWithStateFile,
} from '../../../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import type { StateFile } from '../../../../src/engine/container-manager/checkpoint/state-file.ts';
import type { Logger } from '../../../../src/logger.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

async function openIn(folder: string): Promise<{ file: DiskStateFile; path: string }> {
  const [clock, path] = [new FakeClock(), join(folder, 'state')];
  return { file: await DiskStateFile.open({ path, clock, logger: silentLogger }), path };
}

/** A manager that takes only one content. */
function accepting(content: string | undefined, refusal: Error): { start: (file: StateFile) => void } {
  return {
    start: (file) => {
      if (file.content !== content) throw refusal;
      file.write('new');
    },
  };
}

test('the newest content gets to the disk', async () => {
  const folder = await temporaryFolder();
  const { file, path } = await openIn(folder);
  expect(file.content).toBeUndefined();
  for (const content of ['a', 'b', 'c']) file.write(content);
  await file.close();
  expect({ content: await readFile(path, 'utf8'), names: await readdir(folder) }).toEqual({
    content: 'c',
    names: ['state'],
  });
});

test('the parts of files that a kill left are removed, and nothing else', async () => {
  const folder = await temporaryFolder();
  const others = ['other.12.tmp', 'state', 'state.12.tmp.unusable', 'state.old.tmp'];
  for (const name of [...others, 'state.12.tmp', 'state.4711.tmp']) await writeFile(join(folder, name), 'a');
  const { file } = await openIn(folder);
  expect({ content: file.content, names: (await readdir(folder)).sort() }).toEqual({ content: 'a', names: others });
});

test('a write that failed is tried again', async () => {
  const [path, clock] = [join(await temporaryFolder(), 'state'), new FakeClock()];
  // No file can replace it.
  await mkdir(join(path, 'inside'), { recursive: true });
  let file: DiskStateFile | undefined;
  await new Promise<void>((resolve) => {
    const logger: Logger = {
      ...silentLogger,
      warn: () => {
        resolve();
      },
    };
    void DiskStateFile.open({ path, clock, logger }).then((opened) => {
      file = opened;
      file.write('a');
    });
  });
  await rmdir(join(path, 'inside'));
  await rmdir(path);
  await clock.advance(10_000);
  await file?.close();
  expect(await readFile(path, 'utf8')).toBe('a');
});

test('a file that the manager refuses is set aside', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'state'), 'old');
  const { file, path } = await openIn(folder);
  await startWithStateFile(accepting(undefined, new Error('another policy')), file, silentLogger);
  await file.close();
  expect({ now: await readFile(path, 'utf8'), aside: await readFile(`${path}.unusable`, 'utf8') }).toEqual({
    now: 'new',
    aside: 'old',
  });
});

test('a link in place of the file is not followed', async () => {
  const folder = await temporaryFolder();
  await symlink('/proc/self/environ', join(folder, 'state'));
  const { file } = await openIn(folder);
  expect(file.content).toBe('');
});
