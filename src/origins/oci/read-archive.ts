import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { extract } from 'tar-stream';

/** An entry of an archive. */
interface ArchiveEntry {
  /** Without `./` at its start. */
  path: string;
  isLink: boolean;
  /** Its content. Must be called before the next entry is asked for. */
  read: () => Promise<Uint8Array>;
}

/** The files and links of a tar archive. Rejects if it is damaged or ends early. The caller bounds its size. */
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
      // Content that was not read.
      entry.resume();
    }
  } finally {
    input.destroy();
  }
}
