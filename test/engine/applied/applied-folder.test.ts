import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appliedFolder, readApplied } from '../../../src/engine/applied/applied-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('reads the other files while one appears and disappears', async () => {
  const rootDir = await temporaryFolder();
  const folder = appliedFolder(rootDir);
  await mkdir(folder);
  await writeFile(join(folder, 'pod.default.web.json'), 'stays');
  const changing = join(folder, 'pod.default.app.json');
  const done = new AbortController();
  const changes = async (): Promise<void> => {
    for (let round = 0; round < 500; round++) {
      await writeFile(changing, 'comes and goes');
      await rm(changing);
    }
    done.abort();
  };
  const reads = async (): Promise<Set<string>> => {
    const seen = new Set<string>();
    while (!done.signal.aborted) {
      const kept = await readApplied(rootDir);
      seen.add(
        kept
          .filter(({ path }) => path !== changing)
          .map(({ text }) => text)
          .join(),
      );
    }
    return seen;
  };
  expect((await Promise.all([reads(), changes()]))[0]).toEqual(new Set(['stays']));
});
