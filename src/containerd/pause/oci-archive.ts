import { createHash } from 'node:crypto';
import { pack } from 'tar-stream';

/** A file, folder or link in an image. Paths have no leading slash. Parent folders need not be listed. */
export type ImageFile =
  | { readonly path: string; readonly type: 'file'; readonly content: string | Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly type: 'directory'; readonly mode?: number }
  | { readonly path: string; readonly type: 'symlink'; readonly target: string };

/** How a container of the image runs, with the names of the OCI image configuration. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly StopSignal?: string;
}

/** An image to archive, with one layer per list of files. */
export interface ImageToArchive {
  /** Full name with tag, such as `localhost/busybox:1`. */
  readonly name: string;
  readonly architecture: 'amd64' | 'arm64' | 'arm' | 'riscv64';
  /** Version of the architecture, such as v7. */
  readonly variant?: string;
  readonly layers: readonly (readonly ImageFile[])[];
  readonly config?: ImageConfig;
}

/**
 * Creates an OCI archive of one or more images that containerd, CRI-O and podman can import. The same images always
 * give the same bytes.
 */
export async function ociArchive(...images: readonly ImageToArchive[]): Promise<Uint8Array> {
  const archived = await Promise.all(images.map(archiveImage));
  const index = { schemaVersion: 2, mediaType: mediaTypes.index, manifests: archived.map(({ entry }) => entry) };
  // Images may share layers.
  const blobs = new Map(
    archived.flatMap((image) => image.blobs).map((each) => [each.descriptor.digest, each.content] as const),
  );
  return tar([
    { path: 'oci-layout', type: 'file', content: JSON.stringify({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', type: 'file', content: JSON.stringify(index) },
    ...[...blobs].map(([digest, content]): ImageFile => ({ path: blobPath(digest), type: 'file', content })),
  ]);
}

/** The blobs of an image, and its entry in the index. */
async function archiveImage(image: ImageToArchive): Promise<{ entry: object; blobs: Blob[] }> {
  const { name, architecture, variant, layers, config = {} } = image;
  const layerBlobs = await Promise.all(layers.map(async (files) => blob(mediaTypes.layer, await tarOfLayer(files))));
  const platform = { architecture, ...(variant !== undefined && { variant }), os: 'linux' };
  const configBlob = jsonBlob(mediaTypes.config, {
    ...platform,
    created: new Date(0).toISOString(),
    config,
    // Layers are not compressed, so a layer's digest is also its diff ID.
    rootfs: { type: 'layers', diff_ids: layerBlobs.map((layer) => layer.descriptor.digest) },
  });
  const manifestBlob = jsonBlob(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: configBlob.descriptor,
    layers: layerBlobs.map((layer) => layer.descriptor),
  });
  return {
    entry: { ...manifestBlob.descriptor, platform, annotations: annotations(name) },
    blobs: [...layerBlobs, configBlob, manifestBlob],
  };
}

const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

interface Blob {
  readonly descriptor: { readonly mediaType: string; readonly digest: string; readonly size: number };
  readonly content: Uint8Array;
}

function blob(mediaType: string, content: Uint8Array): Blob {
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  return { descriptor: { mediaType, digest, size: content.byteLength }, content };
}

function jsonBlob(mediaType: string, value: object): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/** containerd reads the full name from its own annotation; other tools read the reference. */
function annotations(name: string): Record<string, string> {
  return { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
}

/** Lists each folder once and before its content, because an unpacker would choose the mode of a missing folder. */
function tarOfLayer(files: readonly ImageFile[]): Promise<Uint8Array> {
  const listed = new Set(files.filter((file) => file.type === 'directory').map((file) => file.path));
  const parents = new Set(files.flatMap((file) => foldersAbove(file.path)));
  const missing = [...parents].filter((path) => !listed.has(path));
  return tar([...missing.map((path): ImageFile => ({ path, type: 'directory' })), ...files]);
}

function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

async function tar(files: readonly ImageFile[]): Promise<Uint8Array> {
  const archive = pack();
  for (const file of files) addEntry(archive, file);
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

function addEntry(archive: ReturnType<typeof pack>, file: ImageFile): void {
  const common = { name: file.path, mtime: new Date(0), uid: 0, gid: 0 };
  switch (file.type) {
    case 'file':
      archive.entry({ ...common, type: 'file', mode: file.mode ?? 0o644 }, file.content);
      return;
    case 'directory':
      archive.entry({ ...common, type: 'directory', mode: file.mode ?? 0o755 });
      return;
    case 'symlink':
      archive.entry({ ...common, type: 'symlink', mode: 0o777, linkname: file.target });
  }
}
