import type { Pod } from '../../../src/api/types.ts';
import { podDNS } from '../../../src/engine/network/dns.ts';
import { parseResolvConf } from '../../../src/engine/network/resolv-conf.ts';
import { orRefused } from '../or-refused.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  pod: Pod;
  resolvConf: string | null;
  clusterDNS: string[];
  clusterDomain: string;
  nodeIPs: string[];
}

export const dns = tableAdapter<In>('dns', ({ pod, resolvConf, ...settings }) =>
  orRefused(() => {
    const hostResolvConf = resolvConf === null ? undefined : parseResolvConf(resolvConf);
    const { config, warnings } = podDNS(pod, { ...settings, hostResolvConf });
    return { ...config, options: config.options.toSorted(), events: warnings.length };
  }),
);
