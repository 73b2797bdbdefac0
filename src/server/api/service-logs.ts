import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { systemClock } from '../../clock.ts';
import { boundedOutput } from '../../engine/host/bounded-program.ts';
import { NotARegularFile, openRegularFile } from '../../files/regular-file.ts';
import { hasCode } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import { hasOptions, type LogQuery } from './log-query.ts';
import type { Call } from './route-table.ts';
import { patienceMs } from './send-parts.ts';

/** kubelet: kubelet_server_journal.go Copy */
const queryTimeoutMs = 30_000;
const maxUnitsBytes = 4 * 1024 * 1024;

type Body = AsyncGenerator<Buffer | string, void>;

/** Answers with logs of services, whose files are in `root`. kubelet: kubelet_server_journal.go ServeHTTP */
export async function serveServiceLogs(
  query: LogQuery,
  root: string,
  { request, response }: Pick<Call, 'request' | 'response'>,
): Promise<void> {
  const isZipped = request.headers['accept-encoding'] === 'gzip';
  const closed = new AbortController();
  response.once('close', () => {
    closed.abort();
  });
  response.writeHead(200, {
    'content-type': 'text/plain;charset=UTF-8',
    ...(isZipped && { 'content-encoding': 'gzip' }),
  });
  const body = serviceLogs(query, root, AbortSignal.any([closed.signal, AbortSignal.timeout(queryTimeoutMs)]));
  const late = AbortSignal.timeout(queryTimeoutMs + patienceMs);
  // Fails if the client has disconnected or is too slow.
  await pipeline(isZipped ? zipped(body) : body, response, { signal: late }).catch(() => undefined);
}

async function* zipped(body: Body): Body {
  const zip = createGzip({ level: constants.Z_BEST_SPEED });
  const fed = pipeline(body, zip).catch(() => undefined);
  try {
    for await (const bytes of zip as AsyncIterable<Buffer>) yield bytes;
  } finally {
    zip.destroy();
    await fed;
  }
}

/** Services that the journal does not know have files. kubelet: kubelet_server_journal.go copyForBoot */
async function* serviceLogs(query: LogQuery, root: string, signal: AbortSignal): Body {
  const units = await journalUnits(signal);
  const isInJournal = (service: string): boolean => units.includes(`${service}.service`);
  const services = query.services.filter(isInJournal);
  const others = query.services.filter((service) => !isInJournal(service));
  if (services.length > 0) yield* journalOutput({ ...query, services }, signal);
  if (others.length === 0) return;
  if (hasOptions(query)) {
    const resolved = `options present and query resolved to log files for [${others.join(' ')}]`;
    yield `\n${resolved}\ntry without specifying options\n`;
    return;
  }
  for (const service of others) yield* fileLog(service, root, signal);
}

/**
 * Units in the journal, one per line. Empty without a journal. kubelet: kubelet_server_journal_linux.go
 * checkForNativeLogger
 */
async function journalUnits(signal: AbortSignal): Promise<string> {
  const bounds = {
    clock: systemClock,
    timeoutMs: queryTimeoutMs,
    maxOutputBytes: maxUnitsBytes,
    tooLong: 'the journal has too many units',
    signal,
  };
  const output = await boundedOutput('journalctl', ['--field', '_SYSTEMD_UNIT'], bounds).catch(() => '');
  return output.toString();
}

/** The journal of this machine, and what went wrong. kubelet: kubelet_server_journal.go copyServiceLogs */
async function* journalOutput(query: LogQuery, signal: AbortSignal): Body {
  const child = spawn('journalctl', journalArguments(query), { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const output = new PassThrough();
  child.on('error', () => undefined).once('close', () => output.end());
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false });
  try {
    await once(child, 'spawn');
    for await (const bytes of output as AsyncIterable<Buffer>) yield bytes;
  } catch {
    if ((query.boot ?? 0) === 0) yield '\nerror: journal output not available\n';
  } finally {
    child.kill();
  }
}

/** kubelet: kubelet_server_journal_linux.go getLoggingCmd */
export function journalArguments({ services, sinceTime, untilTime, tailLines, boot, pattern }: LogQuery): string[] {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceTime ? [`--since=${journalTime(sinceTime)}`] : []),
    ...(untilTime ? [`--until=${journalTime(untilTime)}`] : []),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

const journalTime = (time: Date): string =>
  time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '');

/** The first file whose name fits the service. kubelet: kubelet_server_journal.go heuristicsCopyFileLogs */
async function* fileLog(service: string, root: string, signal: AbortSignal): Body {
  try {
    for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
      const file = await openBelow(root, name);
      if (file === undefined) continue;
      yield* contentOf(file, signal);
      return;
    }
    yield `\nlog not found for ${service}\n`;
  } catch (error) {
    yield `\nerror getting log for ${service}: ${readFailure(error)}\n`;
  }
}

/** A regular file that is in the folder, links included. Resolves with undefined for anything else. */
async function openBelow(root: string, name: string): Promise<FileHandle | undefined> {
  try {
    const file = await openRegularFile(join(root, name), { followLinks: true });
    if ((await readlink(`/proc/self/fd/${file.fd}`)).startsWith(`${await realpath(root)}/`)) return file;
    await file.close();
    return undefined;
  } catch (error) {
    if (error instanceof NotARegularFile || hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function* contentOf(file: FileHandle, signal: AbortSignal): Body {
  try {
    const { size } = await file.stat();
    if (size === 0) return;
    // Stops at the current size, because a log grows meanwhile.
    const content = file.createReadStream({ end: size - 1, autoClose: false });
    for await (const bytes of content as AsyncIterable<Buffer>) {
      if (signal.aborted) throw new Error('context deadline exceeded');
      yield bytes;
    }
  } finally {
    await file.close();
  }
}
