import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openRegularFile } from '../../engine/host/regular-file.ts';
import { hasCode } from '../../errors.ts';
import { send, sendError } from './answers.ts';
import { byteRange } from './byte-range.ts';
import { contentTypeOf, sniffedBytes } from './content-type.ts';
import type { Call } from './route-table.ts';

/** Names of one folder that are listed. */
const maxNames = 10_000;

/**
 * Serves a file or folder below `root`, whose path is `segments`; an empty last one stands for a slash at the end.
 * Follows links, as the kubelet does. Opens nothing but regular files. kubelet: Go's net/http FileServer
 */
export async function serveFileBelow(
  root: string,
  segments: readonly string[],
  { request, response }: Pick<Call, 'request' | 'response'>,
): Promise<void> {
  const names = segments.filter((segment) => segment !== '');
  const isFolderPath = segments.length === 0 || segments.at(-1) === '';
  const [, search = ''] = /^[^?]*(\?.*)?$/.exec(request.url ?? '') ?? [];
  const redirect = (location: string): void => {
    send(response, 301, { location: `${location}${search}` }, '');
  };
  // A slash inside a segment, or `..`, would leave the folder.
  if (names.some((name) => name.includes('/') || name.includes('\0') || name === '..' || name === '.')) {
    sendError(response, 404, '404 page not found');
    return;
  }
  const last = names.at(-1) ?? '';
  if (last === 'index.html' && !isFolderPath) {
    redirect('./');
    return;
  }
  const path = join(root, ...names);
  try {
    const stats = await stat(path);
    if (stats.isDirectory() && !isFolderPath) redirect(`${encodePath(last)}/`);
    else if (stats.isDirectory()) await serveFolder(path, stats, { request, response });
    else if (isFolderPath) redirect(`../${encodePath(last)}`);
    else await serveFile(path, last, { request, response });
  } catch (error) {
    answerFailure(error, response);
  }
}

function answerFailure(error: unknown, response: Call['response']): void {
  if (response.headersSent) response.destroy();
  else if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'ENAMETOOLONG')) {
    sendError(response, 404, '404 page not found');
  } else if (hasCode(error, 'EACCES') || hasCode(error, 'EPERM')) sendError(response, 403, '403 Forbidden');
  else sendError(response, 500, '500 Internal Server Error');
}

async function serveFolder(path: string, stats: Stats, call: Pick<Call, 'request' | 'response'>): Promise<void> {
  const { request, response } = call;
  const index = await stat(join(path, 'index.html')).catch(() => undefined);
  if (index?.isFile() === true) {
    await serveFile(join(path, 'index.html'), 'index.html', call);
    return;
  }
  const headers = { 'last-modified': stats.mtime.toUTCString() };
  if (isUnmodified(stats, request.headers['if-modified-since'])) {
    send(response, 304, headers, '');
    return;
  }
  const entries = (await readdir(path, { withFileTypes: true })).slice(0, maxNames);
  const lines = entries
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => `<a href="${linkTo(name)}">${escapeHTML(name)}</a>\n`);
  const page = ['<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n', ...lines, '</pre>\n'];
  send(response, 200, { ...headers, 'content-type': 'text/html; charset=utf-8' }, page.join(''));
}

async function serveFile(
  path: string,
  name: string,
  { request, response }: Pick<Call, 'request' | 'response'>,
): Promise<void> {
  const file = await openRegularFile(path, { followLinks: true });
  try {
    const stats = await file.stat();
    const { size } = stats;
    const headers = { 'last-modified': stats.mtime.toUTCString() };
    if (isUnmodified(stats, request.headers['if-modified-since'])) {
      send(response, 304, headers, '');
      return;
    }
    const range = byteRange(request.headers.range, size);
    if (range === 'none fits' || range === 'malformed') {
      if (range === 'none fits') response.setHeader('content-range', `bytes */${size}`);
      sendError(response, 416, range === 'none fits' ? 'invalid range: failed to overlap' : 'invalid range');
      return;
    }
    const start = Buffer.alloc(sniffedBytes);
    const { bytesRead } = await file.read(start, 0, sniffedBytes, 0);
    const { first, last } = range ?? { first: 0, last: size - 1 };
    response.writeHead(range === undefined ? 200 : 206, {
      ...headers,
      'content-type': contentTypeOf(name, start.subarray(0, bytesRead)),
      'accept-ranges': 'bytes',
      'content-length': last - first + 1,
      ...(range !== undefined && { 'content-range': `bytes ${first}-${last}/${size}` }),
    });
    if (last < first) {
      response.end();
      return;
    }
    // Ends at the size that was promised, because a log grows meanwhile.
    await pipeline(file.createReadStream({ start: first, end: last, autoClose: false }), response);
  } finally {
    await file.close();
  }
}

/** True if the client has it as of now; times have whole seconds. */
function isUnmodified({ mtimeMs }: Stats, since: string | undefined): boolean {
  const sinceMs = since === undefined ? NaN : Date.parse(since);
  return Math.floor(mtimeMs / 1000) * 1000 <= sinceMs;
}

/** A name as a link relative to its folder. A colon in the first part would be read as a scheme. */
function linkTo(name: string): string {
  const path = encodePath(name);
  return escapeHTML(/^[^/]*:/.test(path) ? `./${path}` : path, false);
}

/** kubelet: Go's net/url URL.String */
const encodePath = (path: string): string => encodeURI(path).replace(/[?#[\]]/g, encodeURIComponent);

function escapeHTML(text: string, ampersands = true): string {
  const safe = ampersands ? text.replaceAll('&', '&amp;') : text;
  return safe.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&#34;').replaceAll("'", '&#39;');
}
