import { statfs } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { extract, type Extract, type Header } from 'tar-stream';
import { errorMessage, isSystemError, UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import type { CopyReport } from './copy-report.ts';
import type { Source, Target } from './parse-endpoints.ts';
import { TargetTree } from './target-tree.ts';

/** How much is copied between two checks of the free space. */
const bytesPerCheck = 64 * 1024 * 1024;
const entriesPerCheck = 1000;
/** The part of the file system that stays free, because a full node cannot run pods. */
const minFreeFraction = 0.05;

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

/** Reads names as bytes, because a name may be invalid UTF-8. The types of the library lack this option. */
const byteNames = { highWaterMark: 64 * 1024, filenameEncoding: 'latin1' };

/**
 * Extracts an archive of `source` below `target`. Rejects at the first hostile entry, if an entry cannot be created,
 * and if the archive is empty; the caller then destroys `archive`.
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
      await extractEntry(tree, entry, { source, target, report });
      // Discards the content of a skipped entry.
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

interface ExtractContext {
  source: Source;
  target: Target;
  report: CopyReport;
}

async function extractEntry(tree: TargetTree, entry: Entry, where: ExtractContext): Promise<void> {
  const { header } = entry;
  const { report } = where;
  const names = targetNames(nameOf(header), where);
  const name = names.join('/');
  const { mode, mtime, size } = header;
  switch (header.type) {
    case 'directory':
      report.entry(name);
      await tree.createFolder(names, mode);
      return;
    case 'file':
    case 'contiguous-file': {
      report.entry(name, size);
      const modifiedSeconds = Math.max(0, mtime.getTime() / 1000 || 0);
      await tree.createFile(names, { mode, modifiedSeconds }, counted(entry, report));
      return;
    }
    case 'symlink': {
      report.entry(name);
      const linkName = linkNameOf(header);
      await tree.createLink(names, linkName);
      if (pointsOutside(names.slice(where.target.name === undefined ? 0 : 1), linkName)) report.outside(name, linkName);
      return;
    }
    case 'link':
      report.entry(name);
      await tree.createHardLink(names, targetNames(linkNameOf(header), where));
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

/** The names of an entry below the target. Throws a `UserError` if the entry is not part of the source. */
function targetNames(entryName: string, { source, target }: ExtractContext): string[] {
  const parts = entryName.split('/').filter((part) => part !== '' && part !== '.');
  const wanted = source.name === undefined ? [] : [Buffer.from(source.name).toString('latin1')];
  if (parts.includes('..') || wanted.some((name) => parts[0] !== name)) {
    const shown = visible(entryName.slice(0, 200));
    throw new UserError(`the tar of the container sent ${shown}, which is not in the source`, {
      hint: 'The copy was stopped. The container may be trying to write elsewhere on this machine.',
    });
  }
  const below = parts.slice(wanted.length);
  return [...(target.name === undefined ? [] : [Buffer.from(target.name).toString('latin1')]), ...below];
}

/** Names in pax records are text, others are bytes. */
function nameOf({ name, pax }: Header): string {
  return hasRecord(pax, 'path') ? Buffer.from(name).toString('latin1') : name;
}

function linkNameOf(header: Header): string {
  const { linkname, pax } = header as { linkname: string | null; pax?: unknown };
  return hasRecord(pax, 'linkpath') ? Buffer.from(linkname ?? '').toString('latin1') : (linkname ?? '');
}

const hasRecord = (pax: unknown, key: string): boolean =>
  typeof pax === 'object' && pax !== null && Object.hasOwn(pax, key);

/** True if a link points outside the copy. `names` is the path of the link in the copy. */
export function pointsOutside(names: readonly string[], linkName: string): boolean {
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

/** Stops a copy before it fills the file system. */
class FreeSpace {
  private bytes = Infinity;
  private entries = 0;

  constructor(private readonly folder: string) {}

  async check(nextBytes: number): Promise<void> {
    this.bytes += nextBytes;
    this.entries += 1;
    if (this.bytes < bytesPerCheck && this.entries < entriesPerCheck) return;
    this.bytes = 0;
    this.entries = 0;
    const { bavail, blocks, bsize, ffree, files } = await statfs(this.folder);
    const isShort =
      bavail * bsize - nextBytes < blocks * bsize * minFreeFraction || (files > 0 && ffree < files * minFreeFraction);
    if (isShort) {
      throw new UserError(
        `the copy would leave less than ${minFreeFraction * 100} % of the file system of ${this.folder} free`,
      );
    }
  }
}
