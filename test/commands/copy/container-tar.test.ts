import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { expect, onTestFinished, test } from 'vitest';
import { copyFromContainer } from '../../../src/commands/copy/container-tar.ts';
import { CopyReport } from '../../../src/commands/copy/copy-report.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { startStreamingServer } from '../../cri/streaming/streaming-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { textStream } from './text-stream.ts';

/** More than all streams on the way hold. */
const muchMore = Buffer.alloc(4_000_000, 'garbage');

async function archiveOf(...names: readonly string[]): Promise<Buffer> {
  const archive = pack();
  for (const name of names) archive.entry({ name }, 'content');
  archive.finalize();
  return buffer(archive);
}

/** Copies `/data` into a folder, out of a container whose tar sends these bytes and exits with this code. */
async function copyOf(folder: string, bytes: Buffer, exitCode: number): Promise<void> {
  const server = await startStreamingServer({ spdy: true }, (session) => {
    session.send('stdout', bytes);
    session.exit(exitCode);
  });
  onTestFinished(() => server.close());
  const runtime = {
    exec: () => Promise.resolve({ url: `http://127.0.0.1:${String(server.port)}/exec` }),
  } as unknown as RuntimeService;
  const container = { runtime, id: 'app-0', name: 'app' };
  const report = new CopyReport({ stderr: textStream(), clock: new FakeClock() });
  await copyFromContainer(container, { folder: '/', name: 'data' }, { folder, name: 'copy' }, report);
}

test.each<[string, () => Promise<Buffer>, number, string]>([
  [
    'a name outside of the source, and much more',
    async () => Buffer.concat([await archiveOf('evil'), muchMore]),
    0,
    'the tar of the container sent evil, which is not in the source',
  ],
  [
    'garbage',
    () => Promise.resolve(muchMore),
    0,
    'the tar of the container sent no valid archive: Invalid tar header. Maybe the tar is corrupted or it needs to be gunzipped?',
  ],
  [
    'a file that cannot be made here, and much more',
    async () => Buffer.concat([await archiveOf('data/folder'), muchMore]),
    0,
    'copy/folder is a folder here but not in the source',
  ],
  ['nothing', () => Promise.resolve(Buffer.alloc(0)), 0, 'the tar of the container sent nothing'],
  ['an archive of nothing', () => archiveOf(), 0, 'the tar of the container sent nothing'],
  ['nothing, and fails', () => Promise.resolve(Buffer.alloc(0)), 2, 'tar in container app failed with exit code 2'],
  ['a part, and fails', () => archiveOf('data'), 2, 'tar in container app failed with exit code 2'],
])('a copy is an error if tar sends %s', async (_what, bytes, exitCode, message) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'copy/folder'), { recursive: true });
  const target = message.startsWith('tar in') ? await temporaryFolder() : folder;
  await expect(copyOf(target, await bytes(), exitCode)).rejects.toMatchObject({ message });
});

test('a folder that was removed ends the copy', async () => {
  const folder = await temporaryFolder();
  const missing = join(folder, 'missing');
  await expect(copyOf(missing, muchMore, 0)).rejects.toMatchObject({ code: 'ENOENT', path: missing });
  expect(await readdir(folder)).toEqual([]);
});
