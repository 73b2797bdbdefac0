import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { podDNS } from '../../../src/engine/network/dns.ts';
import { parseResolvConf } from '../../../src/engine/network/resolv-conf.ts';
import { UserError } from '../../../src/errors.ts';
import { loadTable } from '../../golden-tables.ts';

interface In {
  pod: Pod;
  resolvConf: string | null;
  clusterDNS: string[];
  clusterDomain: string;
  nodeIPs: string[];
}
type Out = { ok: false } | { ok: true; servers: string[]; searches: string[]; options: string[]; events: number };

function actual({ pod, resolvConf, ...settings }: In): Out {
  try {
    const hostResolvConf = resolvConf === null ? undefined : parseResolvConf(resolvConf);
    const { config, warnings } = podDNS(pod, { ...settings, hostResolvConf });
    return { ok: true, ...config, options: config.options.toSorted(), events: warnings.length };
  } catch (error) {
    if (error instanceof UserError) return { ok: false };
    throw error;
  }
}

describe('podDNS agrees with the recorded kubelet', () => {
  it.each(loadTable<In, Out>('dns').map((entry, index) => ({ index, ...entry })))(
    'case $index',
    ({ in: input, out }) => {
      expect(actual(input)).toEqual(out);
    },
  );
});
