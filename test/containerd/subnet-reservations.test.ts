import { execFileSync } from 'node:child_process';
import { readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SubnetReservations, subnetOf } from '../../src/containerd/subnet-reservations.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a configuration has a subnet, or none if it is missing', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'ours.conflist');
  await writeFile(file, '{"subnet": "10.222.1.0/24"}');
  expect([await subnetOf(file), await subnetOf(join(folder, 'missing'))]).toEqual(['10.222.1.0/24', undefined]);
});

test('a configuration that cannot be read is an error, because it may have a subnet', async () => {
  const loop = join(await temporaryFolder(), 'loop.conflist');
  await symlink(loop, loop);
  await expect(subnetOf(loop)).rejects.toThrow('ELOOP');
});

test('the record of a configuration that cannot be read stays, that of a missing one goes', async () => {
  const folder = await temporaryFolder();
  const [away, missing] = [join(folder, 'away.conflist'), join(folder, 'missing.conflist')];
  const claims = new SubnetReservations(join(folder, 'claims'));
  await claims.add(away);
  await claims.add(missing);
  await symlink(away, away);
  expect(await claims.ofOthers('ours')).toEqual([]);
  expect(await readdir(join(folder, 'claims'))).toHaveLength(1);
  await rm(away);
  await writeFile(away, '{"subnet": "10.222.2.0/24"}');
  expect(await claims.ofOthers('ours')).toEqual(['10.222.2.0/24']);
});

test('a folder of records that cannot be read is an error', async () => {
  const loop = join(await temporaryFolder(), 'claims');
  await symlink(loop, loop);
  await expect(new SubnetReservations(loop).ofOthers('ours')).rejects.toThrow('ELOOP');
});

test('named pipes in place of a configuration and of a record are not waited for', async () => {
  const folder = await temporaryFolder();
  const [pipe, ours] = [join(folder, 'pipe.conflist'), join(folder, 'ours.conflist')];
  execFileSync('mkfifo', [pipe]);
  await expect(subnetOf(pipe)).rejects.toThrow(`${pipe} is a named pipe, not a regular file`);
  const claims = new SubnetReservations(join(folder, 'claims'));
  await claims.add(ours);
  const [record = ''] = await readdir(join(folder, 'claims'));
  await rm(join(folder, 'claims', record));
  execFileSync('mkfifo', [join(folder, 'claims', record)]);
  expect(await claims.ofOthers('other')).toEqual([]);
  await claims.add(ours);
  await writeFile(ours, '{"subnet": "10.222.3.0/24"}');
  expect(await claims.ofOthers('other')).toEqual(['10.222.3.0/24']);
});
