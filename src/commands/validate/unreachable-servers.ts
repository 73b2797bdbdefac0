import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { Pod } from '../../api/types.ts';
import { leadsNowhere, nameServersHint, readResolvers, unreachableText } from '../../engine/network/resolvers.ts';
import { UserError } from '../../errors.ts';

/**
 * A warning if the resolver file of this node cannot be read, or if pods can reach none of its servers. Pods that name
 * their servers themselves do not count. `resolvConf` is empty for none.
 */
export async function unreachableServers(pods: readonly Pod[], resolvConf: string): Promise<ManifestProblem[]> {
  const readers = pods.filter(({ spec }) => spec.dnsPolicy !== 'None');
  if (resolvConf === '' || readers.length === 0) return [];
  const warning = { origin: resolvConf, severity: 'warning' } as const;
  try {
    const { servers } = (await readResolvers(resolvConf)).ownNetwork;
    const asking = readers.some(
      ({ spec }) => spec.hostNetwork !== true && leadsNowhere({ servers: spec.dnsConfig?.nameservers ?? [] }),
    );
    if (!asking || !leadsNowhere({ servers })) return [];
    return [{ ...warning, message: unreachableText(resolvConf, servers), hint: nameServersHint }];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, hint } = error;
    return [{ ...warning, message: `no pod can start: ${message}`, ...(hint !== undefined && { hint }) }];
  }
}
