import type { Dirent, Stats } from 'node:fs';
import { type FileHandle, readdir, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openRegularFile } from '../../files/regular-file.ts';
import { hasCode } from '../../errors.ts';
import { send, sendError } from './answers.ts';
import { contentTypeOf, sniffedBytes } from './content-type.ts';
import { escapedPath } from './go-text.ts';
import type { Call } from './route-table.ts';

/** Maximum number of names listed per folder. */
const maxNames = 10_000;
const blockBytes = 64 * 1024;

/**
 * Serves a file or folder below `root`, whose path is `segments`; an empty last one stands for a slash at the end. A
 * slash or `..` in a segment is part of the path, which stays below `root`. Follows links, as the kubelet does. Opens
 * nothing but regular files. kubelet: Go's net/http FileServer
 */
export async function serveFileBelow(
  root: string,
  segments: readonly string[],
  { request, response }: Pick<Call, 'request' | 'response'>,
): Promise<void> {
  const decoded = `/${segments.join('/')}`;
  const isFolderPath = decoded.endsWith('/');
  const last = decoded.split('/').findLast((name) => name !== '') ?? '';
  const [, search = ''] = /^[^?]*(\?.+)?$/.exec(request.url ?? '') ?? [];
  const redirect = (location: string): void => {
    send(response, 301, { location: headerText(`${location}${search}`) }, '');
  };
  if (decoded.includes('\0')) {
    sendError(response, 404, '404 page not found');
    return;
  }
  if (last === 'index.html' && !isFolderPath) {
    redirect('./');
    return;
  }
  const path = join(root, join('/', decoded).replace(/\/$/, ''));
  try {
    const stats = await stat(path);
    if (stats.isDirectory() && !isFolderPath) redirect(`${last}/`);
    else if (stats.isDirectory()) await serveFolder(path, stats, { request, response });
    else if (isFolderPath) redirect(`../${last}`);
    else await serveFile(path, last, { request, response });
  } catch (error) {
    answerFailure(error, response);
  }
}

function answerFailure(error: unknown, response: Call['response']): void {
  if (response.headersSent) response.destroy();
  else if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) sendError(response, 404, '404 page not found');
  else if (hasCode(error, 'EACCES') || hasCode(error, 'EPERM')) sendError(response, 403, '403 Forbidden');
  else sendError(response, 500, '500 Internal Server Error');
}

async function serveFolder(path: string, stats: Stats, call: Pick<Call, 'request' | 'response'>): Promise<void> {
  const { request, response } = call;
  const index = await stat(join(path, 'index.html')).catch(() => undefined);
  if (index?.isFile() === true) {
    await serveFile(join(path, 'index.html'), 'index.html', call);
    return;
  }
  if (isUnmodified(request.headers, stats)) {
    send(response, 304, {}, '');
    return;
  }
  // They come sorted (libuv: src/unix/fs.c uv__fs_scandir_sort), so the first ones are kept.
  const entries = (await readdir(path, { withFileTypes: true })).slice(0, maxNames);
  const lines = entries
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
    .map(shownName)
    .map((name) => `<a href="${linkTo(name)}">${escapeHTML(name)}</a>\n`);
  const page = ['<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n', ...lines, '</pre>\n'];
  send(response, 200, { ...lastModified(stats), 'content-type': 'text/html; charset=utf-8' }, page.join(''));
}

const shownName = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);

async function serveFile(
  path: string,
  name: string,
  { request, response }: Pick<Call, 'request' | 'response'>,
): Promise<void> {
  const file = await openRegularFile(path, { followLinks: true });
  try {
    const stats = await file.stat();
    const { size } = stats;
    if (isUnmodified(request.headers, stats)) {
      send(response, 304, lastModified(stats), '');
      return;
    }
    const range = wantedRange(request.headers, size);
    if (range !== undefined && range.first >= size) {
      response.setHeader('content-range', `bytes */${size}`);
      sendError(response, 416, 'invalid range: failed to overlap');
      return;
    }
    const start = Buffer.alloc(sniffedBytes);
    const { bytesRead } = await file.read(start, 0, sniffedBytes, 0);
    const { first, last } = range ?? { first: 0, last: size - 1 };
    response.writeHead(range === undefined ? 200 : 206, {
      ...lastModified(stats),
      'accept-ranges': 'bytes',
      'content-length': last - first + 1,
      'content-type': contentTypeOf(name, start.subarray(0, bytesRead)),
      ...(range && { 'content-range': `bytes ${first}-${last}/${size}` }),
    });
    // Stops at the promised size, because a log grows meanwhile.
    await pipeline(bytesBetween(file, first, last), response);
  } finally {
    await file.close();
  }
}

/** Fails if the file has become shorter, so that the client does not wait for the rest. */
async function* bytesBetween(file: FileHandle, first: number, last: number): AsyncGenerator<Buffer, void> {
  for (let at = first; at <= last;) {
    const length = Math.min(last - at + 1, blockBytes);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) throw new Error('the file has become shorter');
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** The single range that a request asks for. Returns undefined for the whole file, also for several ranges. */
function wantedRange(headers: IncomingHttpHeaders, size: number): { first: number; last: number } | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (headers['if-range'] !== undefined || (from === '' && to === '') || size === 0) return undefined;
  if (from === '') return { first: Math.max(0, size - Number(to)), last: size - 1 };
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return to !== '' && Number(to) < Number(from) ? undefined : { first: Number(from), last };
}

/** True if the client has it as of now. Files have no entity tags. */
function isUnmodified(headers: IncomingHttpHeaders, { mtimeMs }: Stats): boolean {
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return headers['if-none-match'] === undefined && hasTime(mtimeMs) && Math.floor(mtimeMs / 1000) * 1000 <= since;
}

/** False for the epoch, which Go takes for a time that is not known. */
const hasTime = (mtimeMs: number): boolean => mtimeMs !== 0;

const lastModified = ({ mtime, mtimeMs }: Stats): { 'last-modified'?: string } =>
  hasTime(mtimeMs) ? { 'last-modified': mtime.toUTCString() } : {};

/** A text as Go writes it into a header: in UTF-8, without line ends. Other control characters are escaped. */
function headerText(text: string): string {
  const bytes = Buffer.from(text.replace(/[\r\n]/g, ' ')).toString('latin1');
  return bytes.replace(/[^\t -~\u0080-\u00ff]/g, encodeURIComponent);
}

/** A name as a link relative to its folder. A colon in the first part would be read as a scheme. */
function linkTo(name: string): string {
  const path = escapedPath(name);
  return /^[^/]*:/.test(path) ? `./${path}` : path;
}

function escapeHTML(text: string): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return safe.replaceAll('"', '&#34;').replaceAll("'", '&#39;');
}
