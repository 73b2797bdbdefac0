import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { requireKernelTunables, setKernelTunables } from '../../src/node/kernel-tunables.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Those of a fresh machine. */
const fresh = {
  'vm/overcommit_memory': '0',
  'vm/panic_on_oom': '0',
  'kernel/panic': '0',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

let folder: string;
let logged: unknown[][];
const logger = {
  info: (...entry: unknown[]) => void logged.push(['info', ...entry]),
  warn: (...entry: unknown[]) => void logged.push(['warn', ...entry]),
} as Parameters<typeof setKernelTunables>[0];

beforeEach(async () => {
  logged = [];
  folder = await temporaryFolder();
  for (const [name, value] of Object.entries(fresh)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), `${value}\n`);
  }
});

describe('settings of the kernel', () => {
  test('are set once, and the log has what they were', async () => {
    await setKernelTunables(logger, { folder });
    await setKernelTunables(logger, { folder });
    expect(logged).toEqual([
      [
        'info',
        { changed: ['vm.overcommit_memory: 0 -> 1', 'kernel.panic: 0 -> 10'] },
        'Set kernel settings as the kubelet does',
      ],
    ]);
    const names = ['vm/overcommit_memory', 'kernel/panic'];
    expect(await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).toEqual(['1\n', '10']);
    await requireKernelTunables({ folder });
  });

  test('that cannot be set are one warning', async () => {
    await rm(join(folder, 'kernel/keys'), { recursive: true });
    await rm(join(folder, 'vm/overcommit_memory'));
    await rm(join(folder, 'kernel/panic'));
    await setKernelTunables(logger, { folder });
    const missing = (name: string): string => `(ENOENT: no such file or directory, open '${join(folder, name)}')`;
    expect(logged).toEqual([
      [
        'warn',
        {
          refused: [
            `vm.overcommit_memory=1 ${missing('vm/overcommit_memory')}`,
            `kernel.panic=10 ${missing('kernel/panic')}`,
            `kernel.keys.root_maxkeys=1000000 ${missing('kernel/keys/root_maxkeys')}`,
            `kernel.keys.root_maxbytes=25000000 ${missing('kernel/keys/root_maxbytes')}`,
          ],
        },
        'Could not set kernel settings',
      ],
    ]);
  });

  test('with protectKernelDefaults are compared, and each that differs is named', async () => {
    await rm(join(folder, 'kernel/keys/root_maxkeys'));
    await expect(requireKernelTunables({ folder })).rejects.toMatchObject({
      message:
        'kernel settings differ and protectKernelDefaults is set: vm.overcommit_memory is 0, not 1; kernel.panic is 0, not 10; kernel.keys.root_maxkeys is missing, not 1000000',
      hint: 'Run sysctl -w vm.overcommit_memory=1 kernel.panic=10 kernel.keys.root_maxkeys=1000000, or leave out protectKernelDefaults.',
    });
    expect(await readFile(join(folder, 'kernel/panic'), 'utf8')).toBe('0\n');
  });
});
