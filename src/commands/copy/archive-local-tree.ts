import { constants, type Stats } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { OpenFolder } from '../../engine/host/open-folder.ts';
import { UserError } from '../../errors.ts';
import type { CopyReport } from './copy-report.ts';
import type { Source } from './parse-endpoints.ts';
import { tarEnd, tarHeader, tarPadding } from './tar-header.ts';

const chunkBytes = 256 * 1024;
/** Each level keeps one file descriptor open. */
const maxDepth = 256;
/** Set-user-ID and set-group-ID bits are not copied, because the IDs mean other users there. */
const permissionBits = 0o777;

/**
 * Yields an archive of a local file, folder or link as bytes. `name` is its name in the archive; undefined archives
 * only the content of the folder. Follows no link inside. Skips devices, pipes and sockets. Holds one chunk of one file
 * in memory.
 */
export async function* archiveLocalTree(
  source: Source,
  name: string | undefined,
  report: CopyReport,
): AsyncGenerator<Buffer, void> {
  const folder = await OpenFolder.open(await realpath(source.folder));
  try {
    if (source.name === undefined) yield* archiveFolder(folder, name ?? '.', report, 0);
    else yield* archiveEntry(folder, bytesOf(source.name), bytesOf(name ?? source.name), report, 0);
  } finally {
    await folder.close();
  }
  yield tarEnd();
}

const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

async function* archiveEntry(
  folder: OpenFolder,
  entryName: string,
  name: string,
  report: CopyReport,
  depth: number,
): AsyncGenerator<Buffer, void> {
  const path = folder.at(entryName);
  const stats = await lstat(path);
  if (stats.isDirectory()) {
    const child = await OpenFolder.open(path);
    try {
      yield* archiveFolder(child, name, report, depth + 1);
    } finally {
      await child.close();
    }
  } else if (stats.isSymbolicLink()) {
    const linkName = await readlink(path, { encoding: 'latin1' });
    yield tarHeader({ ...common(stats), name, type: 'symlink', sizeBytes: 0, linkName });
    report.entry(name);
  } else if (stats.isFile()) {
    yield* archiveFile(path, name, report);
  } else report.skipped(name);
}

async function* archiveFolder(
  folder: OpenFolder,
  name: string,
  report: CopyReport,
  depth: number,
): AsyncGenerator<Buffer, void> {
  if (depth > maxDepth) throw new UserError(`folders are nested more than ${maxDepth} deep: ${name.slice(0, 100)}…`);
  yield tarHeader({ ...common(await lstat(folder.at('.'))), name: `${name}/`, type: 'directory', sizeBytes: 0 });
  report.entry(name);
  for await (const entry of folder.entries()) {
    yield* archiveEntry(folder, entry.name, `${name}/${entry.name}`, report, depth);
  }
}

/** A file that changes during the copy keeps its original size: it is cut off or filled with zeros. */
async function* archiveFile(path: Buffer, name: string, report: CopyReport): AsyncGenerator<Buffer, void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new UserError(`${name} was replaced while it was copied`);
    report.entry(name, stats.size);
    yield tarHeader({ ...common(stats), name, type: 'file', sizeBytes: stats.size });
    for (let at = 0; at < stats.size;) {
      const length = Math.min(chunkBytes, stats.size - at);
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
      if (bytesRead === 0) report.changed(name);
      const chunk = bytesRead === 0 ? Buffer.alloc(length) : buffer.subarray(0, bytesRead);
      at += chunk.length;
      report.bytes(chunk.length);
      yield chunk;
    }
    yield tarPadding(stats.size);
  } finally {
    await file.close();
  }
}

function common(stats: Stats): { mode: number; modifiedSeconds: number } {
  return { mode: stats.mode & permissionBits, modifiedSeconds: Math.floor(stats.mtimeMs / 1000) };
}
