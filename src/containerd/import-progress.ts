import { basename } from 'node:path';
import { pullText } from '../api/values/pod-printer.ts';

/** How far an image archive has come on its way into containerd. */
export interface ImportProgress {
  file: string;
  /** Of the archive, as it is on disk. */
  readBytes: number;
  totalBytes: number;
}

/** Such as `image archive app.tar, 45% 135.0/300.0 MB`; what was read is unpacked, which takes about as long again. */
export function importText({ file, readBytes, totalBytes }: ImportProgress): string {
  const what = `image archive ${basename(file)}`;
  if (readBytes < totalBytes) return `${what}, ${pullText({ receivedBytes: readBytes, totalBytes })}`;
  return `${what}, read, is unpacked (${(totalBytes / 1_000_000).toFixed(1)} MB)`;
}
