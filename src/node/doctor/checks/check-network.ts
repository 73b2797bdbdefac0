import { neededPlugins } from '../../../containerd/cni-config.ts';
import { leadsNowhere, nameServersHint, unreachableText } from '../../../engine/network/resolvers.ts';
import type { DNSFacts, Facts, NetworkFacts, RegistryFacts } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

/**
 * The runtime knows best: it may be in another mount namespace, whose plugins and configurations are not visible here.
 */
export function checkCNI({ network, runtime, agents }: Facts): Verdict[] {
  const isReady = isNetworkReady(runtime);
  const runsPods = 'value' in agents && (agents.value.runningPods ?? 0) > 0;
  return onFact(network, (facts) => {
    const seen = judgeSeen(facts, runtime);
    if (isReady === undefined) return seen;
    // The runtime check reports the reason.
    if (!isReady) return seen.filter(({ level }) => level !== 'ok');
    const doubts = seen.flatMap(({ level, evidence, fix = '' }) =>
      level === 'problem' ? [warning(evidence, fix)] : [],
    );
    const warnings = seen.filter(({ level }) => level === 'warning');
    return [ok('the runtime reports that its network is ready'), ...warnings, ...(runsPods ? [] : doubts)];
  });
}

/** The condition NetworkReady. Returns undefined if the runtime does not run or answer. */
function isNetworkReady(runtime: Facts['runtime']): boolean | undefined {
  if (!('value' in runtime) || runtime.value.kind === 'none') return undefined;
  const { answer } = runtime.value;
  if (answer === undefined || 'message' in answer) return undefined;
  return answer.conditions.find(({ type }) => type === 'NetworkReady')?.status;
}

/** The verdicts from what this process can see. */
function judgeSeen(facts: NetworkFacts, runtime: Facts['runtime']): Verdict[] {
  const isManaged = !('value' in runtime) || runtime.value.kind === 'none' || runtime.value.managed;
  if (facts.configs.length > 0) return facts.configs.flatMap((config) => judgeConfig(config, facts));
  return isManaged ? judgeOwnNetwork(facts) : [];
}

/** If the machine has no configuration, the managed containerd gets a bridge of ours. */
function judgeOwnNetwork({ pluginFolders, installHint }: NetworkFacts): Verdict[] {
  const missing = neededPlugins.filter((name) => !pluginFolders.some(({ plugins }) => plugins.includes(name)));
  if (missing.length === 0) return [ok('no configuration in /etc/cni/net.d; the bridge of kubelet-ts can be used')];
  return [problem(`no CNI plugin ${missing.join(', ')}: only pods with hostNetwork: true can run`, installHint)];
}

function judgeConfig({ path, types, error }: NetworkFacts['configs'][number], facts: NetworkFacts): Verdict[] {
  if (error !== undefined) return [problem(`${path} cannot be used: ${error}`, `Correct ${path}, or remove it.`)];
  const missing = types.filter((type) => !facts.pluginFolders.some(({ plugins }) => plugins.includes(type)));
  return missing.length > 0
    ? [problem(`${path} needs CNI plugins that are missing: ${missing.join(', ')}`, facts.installHint)]
    : [ok(`${path}: ${types.join(', ')}`)];
}

export function checkFirewall(facts: Facts): Verdict[] {
  return onFact(facts.network, ({ iptables, nft, iptablesError, packets }) => {
    if (iptables === undefined) {
      const beside = nft === undefined ? '' : ` (${nft} is installed, but the CNI plugins need iptables)`;
      const evidence = `iptables is not installed${beside}: pods cannot reach other machines, and hostPort does not work`;
      return [warning(evidence, 'Install the package iptables of this distribution.')];
    }
    if (iptablesError === undefined) return [ok(iptables), ...judgeForward(packets, facts)];
    const evidence = `${iptables} cannot list its rules: ${iptablesError}`;
    return [problem(evidence, 'modprobe iptable_nat || modprobe nft_compat')];
  });
}

/** Docker and ufw set the policy to DROP. */
function judgeForward({ rules }: NetworkFacts['packets'], { agents, runtime }: Facts): Verdict[] {
  const { forwardPolicy = 'ACCEPT', ownChains = [] } = rules ?? {};
  if (forwardPolicy === 'ACCEPT') return [];
  const evidence = `the policy of FORWARD is ${forwardPolicy}`;
  if (ownChains.some((chain) => chain.endsWith('-FORWARD')))
    return [ok(`${evidence}, and a rule of kubelet-ts allows connections to host ports`)];
  const isManaged = 'value' in runtime && runtime.value.kind === 'chosen' && runtime.value.managed;
  const isRunning = 'value' in agents && agents.value.own !== undefined;
  if (isManaged && !isRunning) return [ok(`${evidence}; kubelet-ts run adds a rule for host ports`)];
  const fix = isManaged ? 'systemctl restart kubelet-ts' : 'iptables -A FORWARD -m conntrack --ctstate DNAT -j ACCEPT';
  return [warning(`${evidence}: other machines may not reach host ports of pods`, fix)];
}

export function checkDNS({ network }: Facts): Verdict[] {
  return onFact(network, ({ dns }) => (dns === undefined ? [] : [judgeDNS(dns)]));
}

function judgeDNS({ resolvConf, resolvers }: DNSFacts): Verdict {
  if ('message' in resolvers) return problem(`no pod can start: ${resolvers.message}`, resolvers.hint ?? '');
  const { servers } = resolvers.ownNetwork;
  if (!leadsNowhere(resolvers.ownNetwork)) return ok(`pods use ${servers.join(', ')}`);
  return warning(unreachableText(resolvConf, servers), nameServersHint);
}

export function checkRegistry({ registry }: Facts): Verdict[] {
  return registry === undefined ? [] : onFact(registry, judgeRegistry);
}

function judgeRegistry({ url, answer }: RegistryFacts): Verdict[] {
  const fix = `curl -v ${url}`;
  if ('error' in answer) return [problem(`${url} does not answer: ${answer.error}`, fix)];
  // 401 asks for credentials, which is how most registries answer.
  if (answer.status < 400 || answer.status === 401) return [ok(`${url} answers`)];
  return [warning(`${url} answers with HTTP status ${answer.status}`, fix)];
}
