import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConfiguredSetup, configuredSetup, type ServerSetup } from './http-server-setup.ts';
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
export const httpFile: ServerFile = serverFile<HTTPFile>(['setup.commonFlags', 'cases'], ({ setup, cases }) =>
  replay(setup, cases),
);

/** As `HTTPFile`, of a kubelet 1.36: new requests, and those of http.json that have another answer now. */
interface ChangedHTTPFile {
  setup: ConfiguredSetup;
  cases: HTTPCase[];
  changed: HTTPCase[];
}

export const changedHTTPFile: ServerFile = serverFile<ChangedHTTPFile>(
  ['setup.configuration', 'cases', 'changed'],
  ({ setup, cases, changed }) => {
    const path = join(process.cwd(), 'test/golden/server/http.json');
    const { setup: before } = JSON.parse(readFileSync(path, 'utf8')) as HTTPFile;
    return replay(configuredSetup(setup, before), [...cases, ...changed]);
  },
);

function replay(setup: ServerSetup, cases: readonly HTTPCase[]): ReturnType<ServerFile['replay']> {
  const servers = new RecordedServers(setup);
  return { cases: cases.map((one) => caseOf(one, servers)), end: () => servers.end() };
}

function caseOf(recorded: HTTPCase, servers: RecordedServers): ReplayedCase {
  const name = `${recorded.name} (${recorded.server})`;
  if (servers.asksAPIServer(recorded.server)) {
    const reason = 'there is no API server to ask about clients, so nothing is asked';
    return { name, run: () => Promise.resolve({ verdict: 'differs on purpose', reason }) };
  }
  const replay = async () => replayHTTP(recorded, await servers.named(recorded.server));
  return comparingCase(name, inNoTable(recorded), replay);
}
