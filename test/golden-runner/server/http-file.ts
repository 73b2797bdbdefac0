import type { ServerSetup } from './http-server-setup.ts';
import { RecordedServers } from './recorded-servers.ts';
import { type HTTPCase, replayHTTP } from './http-case.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { type ServerFile, serverFile } from './server-file.ts';

interface HTTPFile {
  setup: ServerSetup;
  cases: HTTPCase[];
}

/** Requests to the servers of the kubelet, and its answers. */
export const httpFile: ServerFile = serverFile<HTTPFile>(['setup.servers', 'cases'], ({ setup, cases }) => {
  const servers = new RecordedServers(setup);
  return { cases: cases.map((one) => caseOf(one, servers)), end: () => servers.end() };
});

function caseOf(recorded: HTTPCase, servers: RecordedServers): ReplayedCase {
  const name = `${recorded.name} (${recorded.server})`;
  if (servers.asksAPIServer(recorded.server)) {
    const reason = 'there is no API server to ask about clients, so nothing is asked';
    return { name, run: () => Promise.resolve({ verdict: 'differs on purpose', reason }) };
  }
  const replay = async () => replayHTTP(recorded, await servers.named(recorded.server));
  return comparingCase(name, inNoTable(recorded), replay);
}
