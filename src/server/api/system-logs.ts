import { sendError } from './answers.ts';
import { serveFileBelow } from './file-server.ts';
import { aggregateText, logQueryProblems, parseLogQuery } from './log-query.ts';
import type { Call, Mount } from './route-table.ts';
import { serveServiceLogs } from './service-logs.ts';

interface Deps {
  /** Normally /var/log. */
  folder: string;
  /** True if logs of services can be asked for: gate NodeLogQuery and enableSystemLogQuery. */
  hasQuery: boolean;
}

const shownRoot = '/var/log';

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
  const problems = await logQueryProblems(asked, { root: folder, shownRoot });
  const [file] = asked.files;
  if (problems.length > 0) sendError(response, 406, aggregateText(problems));
  else if (file === undefined) await serveServiceLogs(asked, folder, call);
  else await serveFileBelow(folder, file.replace(/^\//, '').split('/'), call);
}
