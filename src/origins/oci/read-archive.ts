import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { extract } from 'tar-stream';

/** An entry of an archive. */
interface ArchiveEntry {
  /** Without a leading `./`. */
  path: string;
  isLink: boolean;
  /** Reads its content. Must be called before the next entry is requested. */
  read: () => Promise<Uint8Array>;
}

/** Yields the files and links in a tar archive. Rejects if it is damaged or truncated. The caller limits its size. */
export async function* readArchive(source: AsyncIterable<Buffer>): AsyncIterable<ArchiveEntry> {
  const entries = extract();
  const input = Readable.from(source);
  input.on('error', (error) => {
    entries.destroy(error);
  });
  input.pipe(entries);
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header;
      const path = name.replace(/^(\.?\/)+/, '');
      const isLink = type === 'symlink' || type === 'link';
      if (isLink || type === 'file' || type === 'contiguous-file') {
        yield { path, isLink, read: () => buffer(entry) };
      }
      // Skips content that nobody read.
      entry.resume();
    }
  } finally {
    input.destroy();
  }
}
