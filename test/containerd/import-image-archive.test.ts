import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ImageStore } from '../../src/containerd/ctr.ts';
import { importImageArchive, parseImportedNames } from '../../src/containerd/import-image-archive.ts';
import { type ImportProgress, importText } from '../../src/containerd/import-progress.ts';
import { UserError } from '../../src/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function emptyArchive(): Promise<string> {
  const file = join(await temporaryFolder(), 'a.tar');
  await writeFile(file, '');
  return file;
}

/** A `ctr` that answers every command with this script. */
async function storeWith(script: string, minor = 6): Promise<ImageStore> {
  const ctr = join(await temporaryFolder(), 'ctr');
  await writeFile(ctr, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ctr, ctrVersion: { major: 1, minor }, address: '/c.sock' };
}

test('reads the names that ctr prints', () => {
  const output =
    'unpacking localhost/a:1 (sha256:0a)...done\nunpacking docker.io/library/b@sha256:ff (sha256:ff)...time="x" msg="y"\ndone\n';
  expect(parseImportedNames(output)).toEqual(['localhost/a:1', 'docker.io/library/b@sha256:ff']);
});

test('asks a ctr that could use the transfer service not to', async () => {
  const store = await storeWith(
    'echo "unpacking $* (sha256:0a)" | tr " " _ | sed "s/^unpacking_/unpacking /; s/_(sha/ (sha/"',
    7,
  );
  const file = await emptyArchive();
  expect(await importImageArchive({ ...store, snapshotter: 'native' }, file)).toEqual([
    `--address_/c.sock_--namespace_k8s.io_images_import_--local_--snapshotter_native_-`,
  ]);
});

test('an image that is pinned has the label by which the CRI knows that', async () => {
  const calls = join(await temporaryFolder(), 'calls');
  const store = await storeWith(`echo "$*" >> ${calls}; echo "unpacking localhost/a:1 (sha256:0a)...done"`);
  const file = await emptyArchive();
  await importImageArchive(store, file);
  await importImageArchive(store, file, { pinned: true });
  const ofStore = '--address /c.sock --namespace k8s.io images';
  expect((await readFile(calls, 'utf8')).split('\n')).toEqual([
    `${ofStore} import -`,
    `${ofStore} import -`,
    `${ofStore} label localhost/a:1 io.cri-containerd.pinned=pinned`,
    '',
  ]);
});

test('a failure names the file and the last line of ctr', async () => {
  const store = await storeWith('echo "time=x level=warning" >&2; echo "ctr: unrecognized image format" >&2; exit 1');
  const file = await emptyArchive();
  await expect(importImageArchive(store, file)).rejects.toMatchObject({
    name: 'UserError',
    message: `Could not import the image archive ${file}: unrecognized image format`,
  });
});

test('an archive without an image for this machine is a failure', async () => {
  const file = await emptyArchive();
  await expect(importImageArchive(await storeWith('true'), file)).rejects.toThrow(
    `Could not import the image archive ${file}: it has no image for this machine`,
  );
});

test('says how much of an archive was read', async () => {
  const file = join(await temporaryFolder(), 'a.tar');
  const text = 'unpacking localhost/a:1 (sha256:0a)...done\n';
  const totalBytes = 1_500_000;
  await writeFile(file, text.padEnd(totalBytes));
  const told: ImportProgress[] = [];
  await importImageArchive(await storeWith('cat'), file, { onProgress: (progress) => told.push(progress) });
  expect(told.map(({ readBytes }) => readBytes)).toEqual([0, 1 << 20, totalBytes]);
  expect(told.map(importText)).toEqual([
    'image archive a.tar, 0% 0.0/1.5 MB',
    'image archive a.tar, 69% 1.0/1.5 MB',
    'image archive a.tar, unpacking (1.5 MB)',
  ]);
});

test('gives ctr the plain archive of one in gzip', async () => {
  const file = join(await temporaryFolder(), 'a.tgz');
  await writeFile(file, gzipSync('unpacking localhost/a:1 (sha256:0a)...done\n'));
  expect(await importImageArchive(await storeWith('cat'), file)).toEqual(['localhost/a:1']);
});

test.each([
  { kind: 'plain', bytes: Buffer.from('unpacking localhost/a:1 (sha256:0a)...done\n') },
  { kind: 'gzip', bytes: gzipSync('unpacking localhost/a:1 (sha256:0a)...done\n') },
])('gives ctr the plain archive of an input: $kind', async ({ bytes }) => {
  // Byte by byte, so that the first chunk is shorter than the mark of gzip.
  const input = Readable.from([...bytes].map((byte) => Buffer.of(byte)));
  expect(await importImageArchive(await storeWith('cat'), 'stdin', { input })).toEqual(['localhost/a:1']);
});

test('an input that is not an archive is a failure with its name', async () => {
  const input = Readable.from([Buffer.of(0x1f), Buffer.of(0x8b), Buffer.from('no gzip')]);
  await expect(importImageArchive(await storeWith('cat'), 'stdin', { input })).rejects.toThrow(
    'Could not import the image archive stdin: unknown compression method',
  );
});

test('an input that says nothing keeps nobody from ending the import', async () => {
  const ended = new AbortController();
  const { signal } = ended;
  const imported = importImageArchive(await storeWith('cat'), 'stdin', { input: new PassThrough(), signal });
  ended.abort(new UserError('ended by SIGINT'));
  await expect(imported).rejects.toThrow(new UserError('ended by SIGINT'));
});

test('a full disk of the runtime is the reason, with what to do', async () => {
  const store = await storeWith('echo "ctr: write /var/lib/x: no space left on device" >&2; exit 1');
  const file = await emptyArchive();
  await expect(importImageArchive(store, file)).rejects.toMatchObject({
    message: `Could not import the image archive ${file}: write /var/lib/x: no space left on device`,
    hint: 'Make room on the disk of the container runtime.',
  });
});

test('a missing file is a failure that names it', async () => {
  await expect(importImageArchive(await storeWith('true'), '/nonexistent/a.tar')).rejects.toThrow(
    'Could not import the image archive /nonexistent/a.tar: no such file',
  );
});

test('a named pipe is a failure, and is not waited for', async () => {
  const file = join(await temporaryFolder(), 'a.tar');
  execFileSync('mkfifo', [file]);
  await expect(importImageArchive(await storeWith('true'), file)).rejects.toThrow(
    `Could not import the image archive ${file}: it is not a regular file`,
  );
});

test('nothing is imported from an archive that differs from its checksum', async () => {
  const file = await emptyArchive();
  await writeFile(`${file}.sha256`, `${'0'.repeat(64)}  a.tar\n`);
  const store = await storeWith(`touch ${file}.seen`);
  await expect(importImageArchive(store, file)).rejects.toThrow(
    `the image archive ${file} is damaged: its SHA-256 is `,
  );
  expect(existsSync(`${file}.seen`)).toBe(false);
});

test('a ctr that cannot start is the reason, not the archive', async () => {
  const file = await emptyArchive();
  const store = { ...(await storeWith('')), ctr: '/nonexistent/ctr' };
  await expect(importImageArchive(store, file)).rejects.toThrow(
    new UserError(`Could not import the image archive ${file}: spawn /nonexistent/ctr ENOENT`),
  );
});
