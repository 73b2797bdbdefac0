import { writeFile } from 'node:fs/promises';
import { type ImageToArchive, ociArchive } from '../../src/containerd/pause/oci-archive.ts';
import { computeImageArchitecture } from '../../src/containerd/pause/pause-image.ts';

/** Writes one archive with as many small images as there are names. They share their only layer. */
export async function writeManyImages(path: string, names: readonly string[]): Promise<void> {
  await writeFile(path, await ociArchive(...names.map(imageOf)));
}

/** An image of one file that differs from the others in a label. */
function imageOf(name: string): ImageToArchive {
  return {
    name,
    architecture: computeImageArchitecture(process.arch),
    layers: [[{ path: 'hello', type: 'file', content: 'hello\n' }]],
    config: { Labels: { name } },
  };
}
