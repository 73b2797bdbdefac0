import { describe, expect, it } from 'vitest';
import {
  hostsFileContent,
  type HostsFileOptions,
  shouldMountHostsFile,
} from '../../../src/engine/network/hosts-file.ts';
import { loadTable } from '../../golden-tables.ts';

type In = Omit<HostsFileOptions, 'hostname' | 'domain'> & { hostName: string; hostDomain: string };

const cases = loadTable<In, { content: string; mounted: boolean }>('hosts-file');

describe('the hosts file agrees with the recorded kubelet', () => {
  it.each(cases.map((entry, index) => ({ index, ...entry })))('case $index', ({ in: input, out }) => {
    expect({
      content: hostsFileContent({ ...input, hostname: input.hostName, domain: input.hostDomain }),
      mounted: shouldMountHostsFile({}, input),
    }).toEqual(out);
  });
});
