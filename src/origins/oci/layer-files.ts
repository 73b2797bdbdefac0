import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type { FetchReport } from '../../engine/config/polled/manifest-origin.ts';
import { isManifestPath, type NamedManifest, refuseBadPath } from '../../engine/config/polled/joined-files.ts';
import { errorMessage } from '../../errors.ts';
import type { Layer } from './artifact-manifest.ts';
import { textOf } from './json-members.ts';

/** Limit for the unpacked bytes of all archives. They may also hold files that are not manifests. */
const maxArchiveBytes = 4 * maxManifestBytes;
const maxEntries = 10_000;
/** No node runs that many manifests. */
const maxFiles = 1000;

/** The manifests of an artifact. */
export class LayerFiles {
  /** By path. A file in a later layer replaces one in an earlier layer, as in an image. */
  private readonly files = new Map<string, Uint8Array>();
  private readonly links = new Set<string>();
  private bytes = 0;
  private unpacked = 0;
  private entries = 0;

  /** The unpacked bytes are added to the report. */
  constructor(private readonly report: Pick<FetchReport, 'bodyBytes'>) {}

  /** True if the layer may hold manifests. Other layers are not fetched. */
  static isReadable(layer: Layer): boolean {
    return kindOf(layer) !== 'other';
  }

  /** Adds the manifests of a layer. Rejects with an OriginFailure if the layer is damaged or too large. */
  async add(layer: Layer, blob: Uint8Array, signal: AbortSignal): Promise<void> {
    if (kindOf(layer) === 'file') {
      const path = titleOf(layer) === '' ? `${layer.digest.slice(7, 19)}.yaml` : titleOf(layer);
      refuseBadPath(path);
      this.put(path, blob);
      return;
    }
    const { readArchive } = await import('./read-archive.ts');
    // The pipeline may reject with a different error, from a stream that ended because of this one.
    let flood: OriginFailure | undefined;
    const count = (bytes: number): void => {
      this.unpacked += bytes;
      this.report.bodyBytes += bytes;
      if (this.unpacked <= maxArchiveBytes) return;
      flood = tooLarge(`the archives are larger than ${mebibytes(maxArchiveBytes)} unpacked`);
      throw flood;
    };
    const bounded = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
      for await (const chunk of source) {
        count(chunk.length);
        yield chunk;
      }
    };
    const take = async (source: AsyncIterable<Buffer>): Promise<void> => {
      for await (const { path, isLink, read } of readArchive(source)) {
        this.entries += 1;
        if (this.entries > maxEntries) throw tooLarge(`the archives have more than ${maxEntries} entries`);
        if (!isManifestPath(path)) continue;
        refuseBadPath(path);
        if (isLink) this.links.add(path);
        else this.put(path, await read());
      }
    };
    const source = Readable.from([Buffer.from(blob)]);
    try {
      if (isGzip(blob)) await pipeline(source, createGunzip(), bounded, take, { signal });
      else await pipeline(source, bounded, take, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (flood !== undefined) throw flood;
      if (error instanceof OriginFailure) throw error;
      const message = `a layer is no valid archive: ${errorMessage(error)}`;
      throw new OriginFailure('is no manifest', message, 'Push it again, with oras push or flux push artifact.');
    }
  }

  /**
   * Returns all manifests by path, and links that are named like a manifest. Throws an OriginFailure if there are none.
   */
  all(): { files: NamedManifest[]; links: string[] } {
    const files = [...this.files].map(([path, bytes]) => ({ path, bytes }));
    const links = [...this.links].filter((path) => !this.files.has(path)).sort();
    if (files.length > 0) return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), links };
    const hint = 'Only *.yaml, *.yml and *.json are read, as layers of their own or in tar and tar+gzip layers.';
    throw new OriginFailure('is no manifest', 'there are no manifests in the artifact', hint);
  }

  private put(path: string, bytes: Uint8Array): void {
    this.bytes += bytes.length - (this.files.get(path)?.length ?? 0);
    this.files.set(path, bytes);
    if (this.bytes > maxManifestBytes) throw tooLarge(`the manifests are larger than ${mebibytes(maxManifestBytes)}`);
    if (this.files.size > maxFiles) throw tooLarge(`there are more than ${maxFiles} manifests`);
  }
}

/** Returns the path of the file or folder that was pushed, as oras records it. */
const titleOf = ({ annotations }: Layer): string => textOf(annotations, 'org.opencontainers.image.title');

/** oras may give a plain file the media type of an archive, so the name decides first. */
function kindOf(layer: Layer): 'file' | 'archive' | 'other' {
  const { annotations, mediaType } = layer;
  const isFolder = textOf(annotations, 'io.deis.oras.content.unpack') === 'true';
  const title = titleOf(layer);
  if (title !== '' && !isFolder && isManifestPath(title)) return 'file';
  if (/(^|[./+-])tar([.+]gzip)?$/.test(mediaType))
    return isFolder || title === '' || isArchiveName(title) ? 'archive' : 'other';
  return title === '' && /[./+-](ya?ml|json)$/.test(mediaType) ? 'file' : 'other';
}

const isArchiveName = (name: string): boolean => /\.(tar|tar\.gz|tgz)$/.test(name);

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;

const tooLarge = (message: string): OriginFailure =>
  new OriginFailure('is a flood', message, 'It is probably no artifact with manifests. Check repository and tag.');
