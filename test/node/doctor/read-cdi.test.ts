import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCDI } from '../../../src/node/doctor/read-cdi.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a CDI file has its names and what is missing for them, or says what is wrong with it', async () => {
  const folder = await temporaryFolder();
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await write(
    '1.yaml',
    `cdiVersion: 0.5.0
kind: vendor.com/gpu
devices:
  - name: '0'
    containerEdits:
      deviceNodes: [{ path: /dev/null }, { path: /dev/absent0 }, { path: /dev/inside, hostPath: /dev/zero }]
  - name: all
    containerEdits: { deviceNodes: [{ path: /dev/absent0 }] }
containerEdits:
  mounts: [{ hostPath: ${folder}, containerPath: /x }, { hostPath: /absent/lib.so, containerPath: /y }]
  hooks: [{ hookName: createContainer, path: /absent/toolkit }]
`,
  );
  await write('2.json', '{"kind": "vendor.com/gpu"');
  await write('3.json', '{"kind": "gpu", "devices": []}');
  await write('4.json', '{"kind": "vendor.com/gpu", "devices": "none"}');
  await write('5.yaml', '- 1');
  await write('6.txt', 'not read');
  const path = (name: string): string => join(folder, name);
  const broken = { names: [], missing: [] };
  expect(await readCDI([folder, '/absent'])).toEqual([
    {
      path: path('1.yaml'),
      names: ['vendor.com/gpu=0', 'vendor.com/gpu=all'],
      missing: [
        { use: 'mount', path: '/absent/lib.so' },
        { use: 'hook', path: '/absent/toolkit' },
        { use: 'device', path: '/dev/absent0' },
      ],
    },
    { path: path('2.json'), error: expect.stringContaining('line 1') as string, ...broken },
    { path: path('3.json'), error: 'it has no kind, such as vendor.com/gpu', ...broken },
    { path: path('4.json'), error: 'it names no device', ...broken },
    { path: path('5.yaml'), error: 'it has no kind, such as vendor.com/gpu', ...broken },
  ]);
});
