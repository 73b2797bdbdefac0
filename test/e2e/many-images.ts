import { writeFile } from 'node:fs/promises';
import { buffer, text } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { ociArchive } from '../../src/containerd/pause/oci-archive.ts';
import { computeImageArchitecture } from '../../src/containerd/pause/pause-image.ts';

/** Writes one archive with as many small images as there are names. They share their only layer. */
export async function writeManyImages(path: string, names: readonly string[]): Promise<void> {
  const files = new Map<string, string>();
  const manifests: unknown[] = [];
  for (const name of names) {
    const archive = extract();
    archive.end(await ociArchive(imageOf(name)));
    for await (const entry of archive) {
      const content = await text(entry);
      if (entry.header.name === 'index.json') manifests.push(...(JSON.parse(content) as { manifests: [] }).manifests);
      else files.set(entry.header.name, content);
    }
  }
  const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests };
  const merged = pack();
  for (const [name, content] of [...files, ['index.json', JSON.stringify(index)] as const]) {
    merged.entry({ name, mtime: new Date(0) }, content);
  }
  merged.finalize();
  await writeFile(path, await buffer(merged));
}

/** An image of one file that differs from the others in a label. */
function imageOf(name: string): Parameters<typeof ociArchive>[0] {
  return {
    name,
    architecture: computeImageArchitecture(process.arch),
    layers: [[{ path: 'hello', type: 'file', content: 'hello\n' }]],
    config: { Labels: { name } },
  };
}
