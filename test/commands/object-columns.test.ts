import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PersistentVolumeClaim } from '../../src/api/values/persistent-volume.ts';
import { objectColumns } from '../../src/commands/object-columns.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const claim = (name: string): PersistentVolumeClaim => ({
  kind: 'PersistentVolumeClaim',
  namespace: 'default',
  name,
  accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
  storage: '1Gi',
});

test('claims are shown with their volumes: a folder, a declared volume, or none yet', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'volumes', 'default', 'data'), { recursive: true });
  await mkdir(join(rootDir, 'persistent-volumes', 'disk'), { recursive: true });
  const record = JSON.stringify({ claimRef: { namespace: 'default', name: 'media' } });
  await writeFile(join(rootDir, 'persistent-volumes', 'disk', 'claim.json'), record);
  expect(await objectColumns(['data', 'media', 'new'].map(claim), rootDir)).toEqual({
    titles: ['STATUS', 'VOLUME', 'CAPACITY', 'ACCESS MODES', 'STORAGECLASS'],
    rows: [
      ['Bound', `${rootDir}/volumes/default/data`, '1Gi', 'RWO,ROX', ''],
      ['Bound', 'disk', '1Gi', 'RWO,ROX', ''],
      ['Pending', '', '1Gi', 'RWO,ROX', ''],
    ],
  });
});
