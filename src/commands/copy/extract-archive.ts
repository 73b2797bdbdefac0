import { statfs } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { extract, type Extract, type Header } from 'tar-stream';
import { errorMessage, isSystemError, UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import type { CopyReport } from './copy-report.ts';
import type { Source, Target } from './parse-endpoints.ts';
import { TargetTree } from './target-tree.ts';

/** How much is copied between two looks at the free space. */
const bytesPerLook = 64 * 1024 * 1024;
const entriesPerLook = 1000;
/** A part of the file system that stays free, because a full node cannot run pods. */
const freePart = 0.05;

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

/** Names as bytes, because they need not be text. The types of the library leave this option out. */
const byteNames = { highWaterMark: 64 * 1024, filenameEncoding: 'latin1' };

/**
 * Makes the entries of an archive of `source` below `target`. Rejects at the first entry that is hostile or cannot be
 * made, and if there is none; the caller then destroys `archive`.
 */
export async function extractArchive(
  archive: Readable,
  source: Source,
  target: Target,
  report: CopyReport,
): Promise<void> {
  const tree = await TargetTree.open(target.folder);
  const space = new FreeSpace(target.folder);
  const entries = extract(byteNames);
  archive.on('error', (error) => {
    entries.destroy(error);
  });
  archive.pipe(entries);
  let isEmpty = true;
  try {
    for await (const entry of entries) {
      isEmpty = false;
      await space.check(entry.header.size);
      await place(tree, entry, { source, target, report });
      // Content of an entry that has none, or was left out.
      entry.resume();
    }
    if (isEmpty) throw new UserError('the tar of the container sent nothing');
  } catch (error) {
    if (error instanceof UserError || isSystemError(error)) throw error;
    throw new UserError(`the tar of the container sent no valid archive: ${errorMessage(error)}`, { cause: error });
  } finally {
    archive.unpipe();
    await tree.close();
  }
}

interface Place {
  source: Source;
  target: Target;
  report: CopyReport;
}

async function place(tree: TargetTree, entry: Entry, where: Place): Promise<void> {
  const { header } = entry;
  const { report } = where;
  const names = placeOf(nameOf(header), where);
  const name = names.join('/');
  const { mode, mtime, size } = header;
  switch (header.type) {
    case 'directory':
      report.entry(name);
      await tree.makeFolder(names, mode);
      return;
    case 'file':
    case 'contiguous-file': {
      report.entry(name, size);
      const modifiedSeconds = Math.max(0, mtime.getTime() / 1000 || 0);
      await tree.makeFile(names, { mode, modifiedSeconds }, counted(entry, report));
      return;
    }
    case 'symlink': {
      report.entry(name);
      const linkName = linkNameOf(header);
      await tree.makeLink(names, linkName);
      if (leadsOut(names.slice(where.target.name === undefined ? 0 : 1), linkName)) report.outside(name, linkName);
      return;
    }
    case 'link':
      report.entry(name);
      await tree.makeHardLink(names, placeOf(linkNameOf(header), where));
      return;
    case 'character-device':
    case 'block-device':
    case 'fifo':
      report.skipped(name);
      return;
    default:
      throw new UserError(`the tar of the container sent an entry of an unknown kind: ${visible(name.slice(0, 200))}`);
  }
}

/** The names below the target of an entry. Throws a `UserError` if it is not one of the source. */
function placeOf(entryName: string, { source, target }: Place): string[] {
  const parts = entryName.split('/').filter((part) => part !== '' && part !== '.');
  const wanted = source.name === undefined ? [] : [Buffer.from(source.name).toString('latin1')];
  if (parts.includes('..') || wanted.some((name) => parts[0] !== name)) {
    const shown = visible(entryName.slice(0, 200));
    throw new UserError(`the tar of the container sent ${shown}, which is not in the source`, {
      hint: 'The copy was ended there. The container may want to write elsewhere on this machine.',
    });
  }
  const below = parts.slice(wanted.length);
  return [...(target.name === undefined ? [] : [Buffer.from(target.name).toString('latin1')]), ...below];
}

/** Names of pax are text, others are bytes. */
function nameOf({ name, pax }: Header): string {
  return hasRecord(pax, 'path') ? Buffer.from(name).toString('latin1') : name;
}

function linkNameOf(header: Header): string {
  const { linkname, pax } = header as { linkname: string | null; pax?: unknown };
  return hasRecord(pax, 'linkpath') ? Buffer.from(linkname ?? '').toString('latin1') : (linkname ?? '');
}

const hasRecord = (pax: unknown, key: string): boolean =>
  typeof pax === 'object' && pax !== null && Object.hasOwn(pax, key);

/** True if a link leads out of the copy. `names` are those of the link in the copy. */
export function leadsOut(names: readonly string[], linkName: string): boolean {
  if (linkName.startsWith('/')) return true;
  let depth = names.length - 1;
  for (const part of linkName.split('/')) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

async function* counted(entry: Entry, report: CopyReport): AsyncGenerator<Buffer, void> {
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    report.bytes(chunk.length);
    yield chunk;
  }
}

/** Ends a copy before it fills the file system. */
class FreeSpace {
  readonly #folder: string;
  #bytes = Infinity;
  #entries = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async check(nextBytes: number): Promise<void> {
    this.#bytes += nextBytes;
    this.#entries += 1;
    if (this.#bytes < bytesPerLook && this.#entries < entriesPerLook) return;
    this.#bytes = 0;
    this.#entries = 0;
    const { bavail, blocks, bsize, ffree, files } = await statfs(this.#folder);
    const isShort = bavail * bsize - nextBytes < blocks * bsize * freePart || (files > 0 && ffree < files * freePart);
    if (isShort) {
      throw new UserError(
        `the copy would leave less than ${freePart * 100} % of the file system of ${this.#folder} free`,
      );
    }
  }
}
