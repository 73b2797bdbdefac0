import { spawn } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { errorMessage } from '../../errors.ts';
import { sendError } from './answers.ts';
import { serveFileBelow } from './file-server.ts';
import {
  aggregateText,
  type LogFolder,
  type LogQuery,
  logQueryProblems,
  parseLogQuery,
  pathBelow,
} from './log-query.ts';
import type { Call, Mount } from './route-table.ts';

interface Deps {
  /** Normally /var/log. */
  folder: string;
  /** True if logs of services can be asked for: gate NodeLogQuery and enableSystemLogQuery. */
  hasQuery: boolean;
}

const shownRoot = '/var/log';
/** kubelet: kubelet_server_journal.go ServeHTTP */
const journalTimeoutMs = 30_000;

/** `/logs/`: files of the system logs. kubelet: server/server.go InstallSystemLogHandler, kubelet.go Start */
export function systemLogsMount(deps: Deps): Mount {
  const methods = ['GET'];
  return {
    path: '/logs/',
    subresources: ['log'],
    routes: [
      { methods, pattern: '', handle: (call) => serveLogs(deps, [], call) },
      { methods, pattern: '{logpath:*}', handle: (call) => serveLogs(deps, call.rest, call) },
    ],
  };
}

async function serveLogs({ folder, hasQuery }: Deps, path: readonly string[], call: Call): Promise<void> {
  const { response, query } = call;
  // A large file takes as long as the client reads.
  const asked = hasQuery ? parseLogQuery(query) : undefined;
  if (asked === undefined) {
    await serveFileBelow(folder, path, call);
    return;
  }
  if ('problems' in asked) {
    sendError(response, 400, aggregateText(asked.problems));
    return;
  }
  if (path.some((segment) => segment !== '')) {
    sendError(response, 406, 'path not allowed in query mode');
    return;
  }
  const where: LogFolder = { root: folder, shownRoot };
  const problems = await logQueryProblems(asked, where);
  const [file] = asked.files;
  if (problems.length > 0) sendError(response, 406, aggregateText(problems));
  else if (file === undefined) await serveJournal(asked, response);
  else await serveFileBelow(folder, pathBelow(file).split('/').slice(1), call);
}

/** Logs of services, from the journal of this machine. kubelet: kubelet_server_journal_linux.go getLoggingCmd */
async function serveJournal(query: LogQuery, response: ServerResponse): Promise<void> {
  const signal = AbortSignal.timeout(journalTimeoutMs);
  const child = spawn('journalctl', journalArguments(query), { stdio: ['ignore', 'pipe', 'ignore'], signal });
  const started = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve).once('error', reject);
  });
  child.on('error', () => undefined);
  response.once('close', () => child.kill());
  try {
    await started;
  } catch (error) {
    sendError(response, 500, `the journal cannot be read: ${errorMessage(error)}`);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  await pipeline(child.stdout, response).catch(() => undefined);
}

export function journalArguments({ services, sinceTime, untilTime, tailLines, boot, pattern }: LogQuery): string[] {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceTime ? [`--since=${journalTime(sinceTime)}`] : []),
    ...(untilTime ? [`--until=${journalTime(untilTime)}`] : []),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`, '--case-sensitive=false']),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

const journalTime = (time: Date): string =>
  time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '');
