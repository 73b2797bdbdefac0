import { type Command, Option } from 'commander';
import { collect, duration, list, wholeNumber } from './flag-values.ts';
import { addRuntimeOptions } from './flags.ts';
import { addManifestURLOptions } from './manifest-url-flags.ts';
import { addResourceOptions } from './resource-flags.ts';

/** Adds the flags that make a node: of `run` and `run-once`. Durations are Go's: 20s, 1m30s. */
export function addNodeOptions(command: Command): Command {
  return addResourceOptions(addManifestURLOptions(addRuntimeOptions(command)))
    .option('--pod-manifest-path <path>', 'file or folder of pod manifests; repeatable', collect)
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
    .option('--healthz-bind-address <ip>', 'where /healthz listens', '127.0.0.1')
    .option('--healthz-port <port>', 'port of /healthz, 0 for none', wholeNumber, 10248)
    .option('--file-check-frequency <duration>', 'how often manifest folders are read anew (default: 20s)', duration)
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
