import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const never = new AbortController().signal;

test('resolves when the file is there already', async () => {
  const path = join(await temporaryFolder(), 'a');
  await writeFile(path, '');
  await waitForPath(path, never);
});

test('resolves when the file comes, and for no other', async () => {
  const folder = await temporaryFolder();
  const order: string[] = [];
  const waiting = waitForPath(join(folder, 'a'), never).then(() => order.push('a came'));
  await writeFile(join(folder, 'b'), '');
  order.push('b came');
  await writeFile(join(folder, 'a'), '');
  await waiting;
  expect(order).toEqual(['b came', 'a came']);
});

test('rejects with the reason of the signal, before or while it waits', async () => {
  const path = join(await temporaryFolder(), 'a');
  const reason = new Error('stop');
  await expect(waitForPath(path, AbortSignal.abort(reason))).rejects.toBe(reason);
  const controller = new AbortController();
  const waiting = waitForPath(path, controller.signal);
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});
