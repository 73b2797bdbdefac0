import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import pLimit from 'p-limit';
import { extract, type Extract } from 'tar-stream';
import { UserError } from '../errors.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { type ImageStore, runCtr } from './ctr.ts';
import { blobsFolder, sha256Of } from './damaged-blobs.ts';
import { computeImageArchitecture } from './pause/pause-image.ts';

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

interface Descriptor {
  readonly digest: string;
  readonly mediaType?: string;
  readonly platform?: { readonly architecture: string; readonly os: string };
}
/** The fields that are read from the manifest, index and configuration of an image. */
interface ImageDocument {
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
  readonly rootfs?: { readonly diff_ids: readonly string[] };
}

interface RestoreOptions {
  /** The root folder of containerd. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** Skips what was unpacked at this time or later, in milliseconds since the epoch. */
  readonly before?: number;
}

/** Larger manifests and configurations are not valid. */
const maxDocumentBytes = 4 * 1024 * 1024;
/** Name of the snapshot that shows where a layer is unpacked. It exists for a moment. */
const viewName = 'kubelet-ts-restore';
/** The start checks the pause image while it imports others. */
const oneView = pLimit(1);
const dropTimeoutMs = 10_000;

/**
 * Compares the unpacked files of an image with its layers, and writes the content of those again that differ, such as
 * empty ones after a power cut. Keeps the files, and so the snapshots: containers may use them, and containerd unpacks
 * a layer only once. Resolves to the paths of these files. Rejects with a `UserError` if the image cannot be read.
 */
export async function restoreUnpackedImage(
  store: ImageStore,
  name: string,
  { root, signal, before = Infinity }: RestoreOptions,
): Promise<string[]> {
  const { layers, diffIDs } = await readImage(store, { root, name, signal });
  const restored: string[] = [];
  for (const [index, layer] of layers.entries()) {
    const folder = await oneView(() => unpackedFolder(store, chainID(diffIDs.slice(0, index + 1)), signal));
    if ((await lstat(folder)).birthtimeMs >= before) continue;
    const blob = join(blobsFolder(root), hexOf(layer.digest));
    const damaged = new Set<string>();
    await eachFile(blob, layer, signal, async (path, entry) => {
      if (!(await isSame(folder, path, entry, signal))) damaged.add(path);
    });
    if (damaged.size === 0) continue;
    await eachFile(blob, layer, signal, async (path, entry) => {
      if (damaged.has(path)) await rewrite(join(folder, path), entry);
    });
    restored.push(...damaged);
  }
  return restored.map((path) => `/${path}`);
}

async function readImage(
  store: ImageStore,
  { root, name, signal }: { root: string; name: string; signal: AbortSignal },
): Promise<{ layers: readonly Descriptor[]; diffIDs: readonly string[] }> {
  const listed = await runCtr(store, ['images', 'ls', `name==${name}`], { signal });
  const digest = /\bsha256:[\da-f]{64}\b/.exec(listed)?.[0];
  if (digest === undefined) throw new UserError(`There is no image ${name}`, { hint: 'kubelet-ts images list' });
  const read = async (of: string): Promise<ImageDocument> => {
    const file = join(blobsFolder(root), hexOf(of));
    return JSON.parse((await readRegularFile(file, maxDocumentBytes)).toString()) as ImageDocument;
  };
  const top = await read(digest);
  const architecture = computeImageArchitecture(process.arch);
  const fits = ({ platform }: Descriptor): boolean =>
    platform === undefined || (platform.os === 'linux' && platform.architecture === architecture);
  const chosen = top.manifests?.find(fits) ?? top.manifests?.[0];
  const manifest = chosen === undefined ? top : await read(chosen.digest);
  const config = await read(manifest.config?.digest ?? '');
  return { layers: manifest.layers ?? [], diffIDs: config.rootfs?.diff_ids ?? [] };
}

const hexOf = (digest: string): string => {
  if (/^sha256:[\da-f]{64}$/.test(digest)) return digest.slice('sha256:'.length);
  throw new UserError(`The image has a digest that is not sha256: ${JSON.stringify(digest)}`);
};

/** Returns the name of the snapshot with these layers unpacked. OCI image specification, "Layer ChainID" */
export function chainID(diffIDs: readonly string[]): string {
  return diffIDs.reduce((chain, next) => `sha256:${createHash('sha256').update(`${chain} ${next}`).digest('hex')}`);
}

/** Returns the folder with the files of the topmost layer of a snapshot. */
async function unpackedFolder(store: ImageStore, chain: string, signal: AbortSignal): Promise<string> {
  const snapshots = ['snapshots', ...(store.snapshotter === undefined ? [] : ['--snapshotter', store.snapshotter])];
  // There may be none: a killed process may have left it, and another process may have dropped ours.
  const drop = async (): Promise<void> => {
    const bounded = { signal: AbortSignal.timeout(dropTimeoutMs) };
    await runCtr(store, [...snapshots, 'rm', viewName], bounded).catch(() => undefined);
  };
  await drop();
  try {
    const mount = await runCtr(store, [...snapshots, 'view', '--target', '/', viewName, chain], { signal });
    const folder = parseTopFolder(mount);
    if (folder === undefined) throw new UserError(`containerd does not report where it unpacked ${chain}: ${mount}`);
    return folder;
  } finally {
    await drop();
  }
}

/** Returns the folder of the topmost layer from the mount command that ctr prints. */
export function parseTopFolder(mount: string): string | undefined {
  return /lowerdir=([^:,\s]+)/.exec(mount)?.[1] ?? /^mount -t bind (\S+) /m.exec(mount)?.[1];
}

/** Calls back for each regular file of a layer, with its path below the root. */
async function eachFile(
  blob: string,
  { mediaType = '' }: Descriptor,
  signal: AbortSignal,
  visit: (path: string, entry: Entry) => Promise<void>,
): Promise<void> {
  if (mediaType.endsWith('zstd')) throw new UserError('Layers compressed with zstd cannot be checked');
  const entries = extract();
  const fail = (error: Error): void => {
    entries.destroy(error);
  };
  const source = createReadStream(blob, { highWaterMark: 1 << 20, signal }).on('error', fail);
  const isGzip = mediaType.endsWith('gzip');
  (isGzip ? source.pipe(createGunzip()).on('error', fail) : source).pipe(entries);
  for await (const entry of entries) {
    const path = entry.header.name.replace(/^(\.?\/)+/, '');
    if (entry.header.type === 'file' && !path.split('/').includes('..')) await visit(path, entry);
    entry.resume();
  }
}

async function isSame(folder: string, path: string, entry: Entry, signal: AbortSignal): Promise<boolean> {
  // A link on the way leads to another file, maybe outside.
  const parents = path.split('/').slice(0, -1);
  for (const [index] of parents.entries()) {
    const stats = await lstat(join(folder, ...parents.slice(0, index + 1))).catch(() => undefined);
    if (stats?.isDirectory() !== true) return true;
  }
  const stats = await lstat(join(folder, path)).catch(() => undefined);
  // A later entry of the layer replaced what is no longer a regular file.
  if (stats?.isFile() !== true) return true;
  if (stats.size !== entry.header.size) return false;
  return (await sha256Of(join(folder, path), signal)) === (await sha256OfEntry(entry));
}

async function sha256OfEntry(entry: Entry): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of entry as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

/** Writes into the same inode, which has the owner, the mode and the hard links. */
async function rewrite(file: string, entry: Entry): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    for await (const chunk of entry as AsyncIterable<Buffer>) await handle.writeFile(chunk);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
