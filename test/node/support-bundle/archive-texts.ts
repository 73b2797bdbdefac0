import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';

/** The files of a support bundle by name. */
export async function archiveTexts(bundle: Uint8Array): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const archive = Readable.from([gunzipSync(bundle)]).pipe(extract());
  for await (const entry of archive) files[entry.header.name.replace('kubelet-ts-support/', '')] = await text(entry);
  return files;
}
