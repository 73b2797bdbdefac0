import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LargeBodies, LargeBody } from '../../../src/origins/http/large-bodies.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A body in a file of which each read returns at most 3 bytes, and none after `bytesOnDisk`. */
async function bodyOf(text: string, bytesOnDisk = text.length): Promise<LargeBody> {
  const file = {
    writeFile: () => Promise.resolve(),
    read: (buffer: Buffer, offset: number, length: number, position: number) => {
      const bytes = Buffer.from(text).subarray(position, Math.min(position + Math.min(length, 3), bytesOnDisk));
      bytes.copy(buffer, offset);
      return Promise.resolve({ bytesRead: bytes.length, buffer });
    },
    close: () => Promise.resolve(),
  };
  const body = new LargeBody(file as unknown as ConstructorParameters<typeof LargeBody>[0], '/bodies');
  await body.append(Buffer.from(text));
  return body;
}

test('a file that is read in pieces is whole', async () => {
  const body = await bodyOf('a manifest');
  expect(String(await body.whole())).toBe('a manifest');
});

test('a file that ends too early is not a manifest', async () => {
  const body = await bodyOf('a manifest', 5);
  await expect(body.whole()).rejects.toMatchObject({
    kind: 'refused',
    message: 'a body beyond 512 KiB needs the disk: its file ended after 5 bytes',
    hint: 'Check /bodies.',
  });
});

test('a body in a folder leaves no file', async () => {
  const folder = join(await temporaryFolder(), 'bodies');
  const body = await new LargeBodies(folder).create();
  await body.append(Buffer.from('a'));
  await body.append(Buffer.from('b'));
  expect([String(await body.whole()), await readdir(folder)]).toEqual(['ab', []]);
  await body.close();
});
