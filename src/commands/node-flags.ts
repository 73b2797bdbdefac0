import { type Command, InvalidArgumentError, Option } from 'commander';
import { addRuntimeOptions } from './flags.ts';

/** Adds the flags that make a node: of `run` and `run-once`. Durations are Go's: 20s, 1m30s. */
export function addNodeOptions(command: Command): Command {
  return addRuntimeOptions(command)
    .option('--pod-manifest-path <path>', 'file or folder of pod manifests; repeatable', collect)
    .option('--manifest-url <url>', 'URL of a pod manifest')
    .option('--manifest-url-header <name:value>', 'header sent to the manifest URL; repeatable', collect)
    .option('--image-service-endpoint <endpoint>', 'image service, when it is not the runtime endpoint')
    .option('--hostname-override <name>', 'node name, in place of the host name')
    .option('--node-ip <ip>', 'address of the node; one of each family', list)
    .option('--resolv-conf <path>', "the node's resolver file; empty for none", '/etc/resolv.conf')
    .option('--cluster-dns <ip>', 'DNS server for pods with dnsPolicy ClusterFirst; repeatable', list)
    .option('--cluster-domain <domain>', 'domain of the cluster, such as cluster.local')
    .addOption(
      new Option('--cgroup-driver <driver>', 'in place of what the runtime says').choices(['cgroupfs', 'systemd']),
    )
    .option('--cgroup-root <path>', 'cgroup below which those of pods go', '/')
    .option('--max-pods <n>', 'pods that may run at a time', wholeNumber, 110)
    .option('--healthz-bind-address <ip>', 'where /healthz listens', '127.0.0.1')
    .option('--healthz-port <port>', 'port of /healthz, 0 for none', wholeNumber, 10248)
    .option('--file-check-frequency <duration>', 'how often manifest folders are read anew (default: 20s)', duration)
    .option('--http-check-frequency <duration>', 'how often the manifest URL is asked (default: 20s)', duration)
    .option('--max-parallel-image-pulls <n>', 'image pulls at a time', wholeNumber, 1)
    .option('--pod-logs-dir <path>', 'folder of pod logs', '/var/log/pods')
    .option('--seccomp-default', "the runtime's seccomp profile for containers without one", false);
}

/** Adds the flags of the agent's log. */
export function addLogOptions(command: Command, defaultLevel: string): Command {
  const levels = ['debug', 'info', 'warn', 'error'];
  return command
    .addOption(new Option('--log-format <format>', 'form of the log lines').choices(['text', 'json']).default('text'))
    .addOption(new Option('--log-level <level>', 'what is logged').choices(levels).default(defaultLevel));
}

const collect = (value: string, values: string[] = []): string[] => [...values, value];
const list = (value: string, values: string[] = []): string[] => [...values, ...value.split(',')];

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** A Go duration, in milliseconds. */
export function duration(text: string): number {
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)];
  const matched = parts.map(([part]) => part).join('');
  if (text === '' || matched !== text) throw new InvalidArgumentError('It must be a duration such as 20s or 1m30s.');
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (units[unit] ?? 0), 0);
}
