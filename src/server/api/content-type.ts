import { extname } from 'node:path';

/** Types by extension: those of Go, and those of shared-mime-info that occur among logs. */
const types: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.bz2': 'application/x-bzip',
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.log': 'text/x-log; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
  '.xml': 'text/xml; charset=utf-8',
  '.xz': 'application/x-xz',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
  '.zst': 'application/zstd',
};

/** Bytes of the start of a file that its type is read from. */
export const sniffedBytes = 512;

/** The type of a file by its name, otherwise text or bytes. kubelet: Go's net/http ServeContent */
export function contentTypeOf(name: string, start: Buffer): string {
  return types[extname(name).toLowerCase()] ?? textOrBytes(start);
}

// eslint-disable-next-line no-control-regex -- bytes that no text has
const binary = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/** The type of a content without a name. */
export function textOrBytes(start: Buffer): string {
  const text = start.subarray(0, sniffedBytes).toString('latin1');
  return binary.test(text) ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}
