import { basename } from 'node:path';
import { pullText } from '../api/values/pod-printer.ts';

/** Progress of an import into containerd. */
export interface ImportProgress {
  file: string;
  /** Bytes read so far, out of the archive's size on disk. */
  readBytes: number;
  totalBytes: number;
}

/** For example `image archive app.tar, 45% 135.0/300.0 MB`. Unpacking follows and takes about as long. */
export function importText({ file, readBytes, totalBytes }: ImportProgress): string {
  const what = `image archive ${basename(file)}`;
  if (readBytes < totalBytes) return `${what}, ${pullText({ receivedBytes: readBytes, totalBytes })}`;
  return `${what}, unpacking (${(totalBytes / 1_000_000).toFixed(1)} MB)`;
}
