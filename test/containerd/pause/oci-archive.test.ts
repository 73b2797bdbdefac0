import { createHash } from 'node:crypto';
import { extract } from 'tar-stream';
import { expect, test } from 'vitest';
import { ociArchive, type ImageToArchive } from '../../../src/containerd/pause/oci-archive.ts';

const image: ImageToArchive = {
  name: 'localhost/app:1',
  architecture: 'arm64',
  layers: [
    [
      { path: 'usr/bin/app', type: 'file', content: '#!', mode: 0o755 },
      { path: 'bin', type: 'symlink', target: 'usr/bin' },
      { path: 'tmp', type: 'directory', mode: 0o1777 },
    ],
  ],
  config: { Cmd: ['app'] },
};

interface Entry {
  readonly header: { readonly name: string; readonly type: string; readonly mode: number; readonly linkname: string };
  readonly body: string;
}

async function entriesOf(archive: Uint8Array | string): Promise<Entry[]> {
  const reader = extract();
  reader.end(typeof archive === 'string' ? Buffer.from(archive, 'latin1') : archive);
  const entries: Entry[] = [];
  for await (const entry of reader) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry) chunks.push(chunk as Uint8Array);
    const { name, type, mode, linkname } = entry.header;
    entries.push({ header: { name, type, mode, linkname }, body: Buffer.concat(chunks).toString('latin1') });
  }
  return entries;
}

test('the index leads to a manifest, a configuration and layers by their digests', async () => {
  const entries = new Map((await entriesOf(await ociArchive(image))).map(({ header, body }) => [header.name, body]));
  const blob = (digest: string): string => {
    const body = entries.get(`blobs/${digest.replace(':', '/')}`) ?? '';
    expect(`sha256:${createHash('sha256').update(body, 'latin1').digest('hex')}`).toBe(digest);
    return body;
  };
  interface Descriptor {
    digest: string;
    size: number;
  }
  const index = JSON.parse(entries.get('index.json') ?? '') as { manifests: (Descriptor & { annotations: object })[] };
  expect(entries.get('oci-layout')).toBe('{"imageLayoutVersion":"1.0.0"}');
  expect(index.manifests.map(({ annotations }) => annotations)).toEqual([
    { 'io.containerd.image.name': 'localhost/app:1', 'org.opencontainers.image.ref.name': 'localhost/app:1' },
  ]);
  const manifest = JSON.parse(blob(index.manifests[0]?.digest ?? '')) as { config: Descriptor; layers: Descriptor[] };
  expect(JSON.parse(blob(manifest.config.digest))).toEqual({
    architecture: 'arm64',
    os: 'linux',
    created: '1970-01-01T00:00:00.000Z',
    config: { Cmd: ['app'] },
    rootfs: { type: 'layers', diff_ids: manifest.layers.map(({ digest }) => digest) },
  });
  const layer = blob(manifest.layers[0]?.digest ?? '');
  expect(manifest.layers.map(({ size }) => size)).toEqual([layer.length]);
  expect((await entriesOf(layer)).map(({ header }) => header)).toEqual([
    { name: 'usr', type: 'directory', mode: 0o755, linkname: null },
    { name: 'usr/bin', type: 'directory', mode: 0o755, linkname: null },
    { name: 'usr/bin/app', type: 'file', mode: 0o755, linkname: null },
    { name: 'bin', type: 'symlink', mode: 0o777, linkname: 'usr/bin' },
    { name: 'tmp', type: 'directory', mode: 0o1777, linkname: null },
  ]);
});

test('the same image gives the same bytes', async () => {
  expect(Buffer.compare(await ociArchive(image), await ociArchive(image))).toBe(0);
});
