import type { ServerSetup } from './http-server-setup.ts';
import { RecordedServers } from './recorded-servers.ts';
import { type HTTPCase, replayHTTP } from './http-case.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { serverFile } from './server-file.ts';

interface HTTPFile {
  setup: ServerSetup;
  cases: HTTPCase[];
}

/** Requests to the servers of the kubelet, and its answers. */
export const httpFile = serverFile<HTTPFile>(['setup.servers', 'cases'], ({ setup, cases }) => {
  const servers = new RecordedServers(setup);
  return {
    cases: cases.map((one): ReplayedCase => {
      const name = `${one.name} (${one.server})`;
      if (servers.asksAPIServer(one.server)) {
        const reason = 'there is no API server to ask about clients, so nothing is asked';
        return { name, run: () => Promise.resolve({ verdict: 'differs on purpose', reason }) };
      }
      return comparingCase(name, inNoTable(one), async () => replayHTTP(one, await servers.named(one.server)));
    }),
    end: () => servers.end(),
  };
});
