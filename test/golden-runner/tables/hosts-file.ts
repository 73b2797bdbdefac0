import {
  hostsFileContent,
  type HostsFileOptions,
  shouldMountHostsFile,
} from '../../../src/engine/network/hosts-file.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = Omit<HostsFileOptions, 'hostname' | 'domain'> & { hostName: string; hostDomain: string };

export const hostsFile = tableAdapter<In>('hosts-file', (input) => ({
  content: hostsFileContent({ ...input, hostname: input.hostName, domain: input.hostDomain }),
  mounted: shouldMountHostsFile({}, input),
}));
