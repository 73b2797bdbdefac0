import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { layerIngests } from '../../../src/engine/images/layer-ingests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A content store with these files in folders of ingests. */
async function makeStore(ingests: Record<string, Record<string, string>>): Promise<string> {
  const store = await temporaryFolder();
  for (const [name, files] of Object.entries(ingests)) {
    const folder = join(store, 'ingest', name);
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    if ('data' in files) await utimes(join(folder, 'data'), 7, 7);
  }
  return store;
}

const read = (store: string | undefined) => layerIngests(() => Promise.resolve(store))();

test('reports the layers that the CRI pulls, with their progress', async () => {
  const store = await makeStore({
    a: { ref: 'k8s.io/1/layer-sha256:aa', data: 'half', total: '9' },
    b: { ref: 'k8s.io/2/layer-sha256:bb', data: '' },
    manifest: { ref: 'k8s.io/3/manifest-sha256:cc', data: '{', total: '2' },
    foreign: { ref: 'moby/1/layer-sha256:dd', data: 'x', total: '2' },
    gone: { ref: 'k8s.io/4/layer-sha256:ee' },
  });
  expect(await read(store)).toEqual([
    { ref: 'k8s.io/1/layer-sha256:aa', receivedBytes: 4, totalBytes: 9, changedAt: 7000 },
    { ref: 'k8s.io/2/layer-sha256:bb', receivedBytes: 0, changedAt: 7000 },
  ]);
});

test('reports nothing if there is no content store, or it cannot be read', async () => {
  const store = await temporaryFolder();
  await writeFile(join(store, 'ingest'), 'no folder');
  expect(await read(store)).toBeUndefined();
  expect(await read(join(store, 'missing'))).toBeUndefined();
  expect(await read(undefined)).toBeUndefined();
});
