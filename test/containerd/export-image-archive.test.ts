import { EventEmitter, once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ImageStore } from '../../src/containerd/ctr.ts';
import { exportImageArchive } from '../../src/containerd/export-image-archive.ts';
import { UserError } from '../../src/errors.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A folder, and a `ctr` elsewhere that answers every command with this script. */
async function storeWith(script: string, minor = 6): Promise<{ store: ImageStore; folder: string; file: string }> {
  const ctr = join(await temporaryFolder(), 'ctr');
  await writeFile(ctr, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const folder = await temporaryFolder();
  return { store: { ctr, ctrVersion: { major: 1, minor }, address: '/c.sock' }, folder, file: join(folder, 'app.tar') };
}

const options = () => ({ clock: new FakeClock(), signal: new AbortController().signal });

test('writes the archive of ctr, with its checksum next to it', async () => {
  const { store, folder, file } = await storeWith('echo "$*"', 7);
  await writeFile(`${file}.sha256`, 'of an earlier archive');
  const written = await exportImageArchive(store, ['localhost/a:1', 'localhost/b:1'], file, options());
  const text = '--address /c.sock --namespace k8s.io images export --local - localhost/a:1 localhost/b:1\n';
  expect(await readFile(file, 'utf8')).toBe(text);
  expect(written.bytes).toBe(text.length);
  expect(await readFile(`${file}.sha256`, 'utf8')).toBe(`${written.sha256}  app.tar\n`);
  expect((await readdir(folder)).sort()).toEqual(['app.tar', 'app.tar.sha256']);
});

test('a failure has the words of ctr, leaves the earlier archive and no part of the new one', async () => {
  const { store, folder, file } = await storeWith(
    'echo half; echo "ctr: content digest sha256:0a: not found" >&2; exit 1',
  );
  await writeFile(file, 'earlier');
  await expect(exportImageArchive(store, ['a'], file, options())).rejects.toMatchObject({
    name: 'UserError',
    message: `Could not write the archive ${file}: content digest sha256:0a: not found`,
  });
  expect(await readdir(folder)).toEqual(['app.tar']);
  expect(await readFile(file, 'utf8')).toBe('earlier');
});

test('a signal ends ctr, and leaves no part of the archive', async () => {
  const { store, folder, file } = await storeWith('echo half; exec sleep 60');
  const abort = new AbortController();
  const exported = exportImageArchive(store, ['a'], file, {
    clock: new FakeClock(),
    signal: abort.signal,
    onProgress: () => {
      abort.abort(new Error('ended by SIGINT'));
    },
  });
  await expect(exported).rejects.toThrow('ended by SIGINT');
  expect(await readdir(folder)).toEqual([]);
});

test('a signal before the first byte leaves no part of the archive', async () => {
  const { store, folder, file } = await storeWith('echo half; exec sleep 60');
  const signal = AbortSignal.abort(new Error('ended by SIGINT'));
  const exported = exportImageArchive(store, ['a'], file, { clock: new FakeClock(), signal });
  await expect(exported).rejects.toThrow('ended by SIGINT');
  expect(await readdir(folder)).toEqual([]);
});

test('a ctr that sends nothing for a minute has failed', async () => {
  const { store, folder, file } = await storeWith('echo half; exec sleep 60');
  const clock = new FakeClock();
  const began = new EventEmitter();
  const begins = once(began, 'progress');
  const exported = exportImageArchive(store, ['a'], file, {
    clock,
    signal: new AbortController().signal,
    onProgress: () => {
      began.emit('progress');
    },
  });
  const failed = expect(exported).rejects.toThrow(
    `Could not write the archive ${file}: containerd sent nothing for 60 seconds`,
  );
  await begins;
  await clock.advance(60_000);
  await failed;
  expect(await readdir(folder)).toEqual([]);
});

test('a folder that is missing is a failure that names the file', async () => {
  const { store, folder } = await storeWith('echo all');
  await expect(exportImageArchive(store, ['a'], join(folder, 'no/app.tar'), options())).rejects.toThrow(
    `Could not write the archive ${join(folder, 'no/app.tar')}: there is no folder ${join(folder, 'no')}`,
  );
});

test('a ctr that cannot start is the reason, not the folder', async () => {
  const { store, folder, file } = await storeWith('');
  await expect(exportImageArchive({ ...store, ctr: '/nonexistent/ctr' }, ['a'], file, options())).rejects.toThrow(
    new UserError(`Could not write the archive ${file}: spawn /nonexistent/ctr ENOENT`),
  );
  expect(await readdir(folder)).toEqual([]);
});
