import { type Command, Option } from 'commander';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';

const apiServer = 'there is no API server';
const remains = 'what a pod leaves is removed with it';
const removed = 'the kubelet no longer uses it either';
const cni = 'network plugins are set up at the container runtime';
const dockershim = 'Docker is used over CRI, through cri-dockerd';
const statistics = 'statistics are read on demand';
const stderr = 'the log goes to stderr; --log-level sets the least severe level';
const test = 'it was for tests of the kubelet';

/**
 * A flag of the kubelet in commander's notation, why it has no effect, and the Kubernetes release since which a kubelet
 * refuses it, if one does.
 */
export type FlagWithoutEffect = readonly [flags: string, reason: string, since?: string];

/** The flags of kubelets since 1.18 that are not fields of the configuration and have no effect here. */
export const flagsWithoutEffect: readonly FlagWithoutEffect[] = [
  ['--add-dir-header [boolean]', stderr, '1.26'],
  ['--allow-privileged [boolean]', 'each pod declares what is privileged', '1.15'],
  ['--alsologtostderr [boolean]', stderr, '1.26'],
  ['--application-metrics-count-limit <n>', statistics, '1.37'],
  ['--azure-container-registry-config <path>', '--image-credential-provider-config takes its place'],
  ['--boot-id-file <paths>', statistics, '1.37'],
  ['--bootstrap-kubeconfig <path>', apiServer],
  ['--cadvisor-port <port>', statistics, '1.12'],
  ['--chaos-chance <share>', test, '1.22'],
  ['--cloud-config <path>', apiServer, '1.34'],
  ['--cloud-provider <name>', apiServer],
  ['--cni-bin-dir <path>', cni, '1.24'],
  ['--cni-cache-dir <path>', cni, '1.24'],
  ['--cni-conf-dir <path>', cni, '1.24'],
  ['--container-hints <path>', statistics, '1.37'],
  ['--container-runtime <name>', 'every runtime is asked over CRI; --container-runtime-endpoint names it', '1.27'],
  ['--containerd <endpoint>', statistics, '1.37'],
  ['--containerd-namespace <name>', statistics, '1.37'],
  ['--docker <endpoint>', statistics],
  ['--docker-endpoint <endpoint>', dockershim, '1.24'],
  ['--docker-env-metadata-whitelist <names>', statistics],
  ['--docker-only [boolean]', statistics],
  ['--docker-root <path>', statistics],
  ['--docker-tls [boolean]', statistics],
  ['--docker-tls-ca <path>', statistics],
  ['--docker-tls-cert <path>', statistics],
  ['--docker-tls-key <path>', statistics],
  ['--dynamic-config-dir <path>', apiServer, '1.24'],
  ['--enable-cadvisor-json-endpoints [boolean]', statistics, '1.21'],
  ['--enable-load-reader [boolean]', statistics, '1.37'],
  ['--event-storage-age-limit <durations>', statistics, '1.37'],
  ['--event-storage-event-limit <numbers>', statistics, '1.37'],
  ['--exit-on-lock-contention [boolean]', 'the control socket is the lock of the root-dir'],
  ['--experimental-allocatable-ignore-eviction [boolean]', removed],
  ['--experimental-bootstrap-kubeconfig <path>', apiServer, '1.23'],
  ['--experimental-check-node-capabilities-before-mount [boolean]', removed, '1.24'],
  ['--experimental-dockershim-root-directory <path>', dockershim, '1.24'],
  ['--experimental-kernel-memcg-notification [boolean]', 'replaced by --kernel-memcg-notification', '1.25'],
  ['--experimental-logging-sanitization [boolean]', removed],
  ['--experimental-mounter-path <path>', removed],
  ['--global-housekeeping-interval <duration>', statistics, '1.37'],
  ['--housekeeping-interval <duration>', statistics],
  ['--image-pull-progress-deadline <duration>', dockershim, '1.24'],
  ['--keep-terminated-pod-volumes [boolean]', remains, '1.31'],
  ['--kubeconfig <path>', apiServer],
  ['--lock-file <path>', 'the control socket is the lock of the root-dir'],
  ['--log-backtrace-at <place>', stderr, '1.26'],
  ['--log-cadvisor-usage [boolean]', statistics, '1.37'],
  ['--log-dir <path>', stderr, '1.26'],
  ['--log-file <path>', stderr, '1.26'],
  ['--log-file-max-size <megabytes>', stderr, '1.26'],
  ['--logtostderr [boolean]', stderr, '1.26'],
  ['--machine-id-file <paths>', statistics, '1.37'],
  ['--master-service-namespace <name>', apiServer, '1.27'],
  ['--max-housekeeping-interval <duration>', statistics],
  ['--network-plugin <name>', cni, '1.24'],
  ['--non-masquerade-cidr <cidr>', cni, '1.24'],
  ['--one-output [boolean]', stderr, '1.26'],
  ['--pod-infra-container-image <image>', 'the runtime chooses the pause image', '1.35'],
  ['--really-crash-for-testing [boolean]', test],
  ['--redirect-container-streaming [boolean]', 'streams always pass through the agent', '1.20'],
  ['--register-schedulable [boolean]', apiServer, '1.34'],
  ['--runtime-cgroups <path>', 'the runtime stays in the cgroup it was started in'],
  ['--seccomp-profile-root <path>', 'profiles are in seccomp/ below --root-dir', '1.23'],
  ['--skip-headers [boolean]', stderr, '1.26'],
  ['--skip-log-headers [boolean]', stderr, '1.26'],
  ['--stderrthreshold <level>', stderr, '1.26'],
  ['--storage-driver-buffer-duration <duration>', statistics, '1.37'],
  ['--storage-driver-db <name>', statistics, '1.37'],
  ['--storage-driver-host <address>', statistics, '1.37'],
  ['--storage-driver-password <password>', statistics, '1.37'],
  ['--storage-driver-secure [boolean]', statistics, '1.37'],
  ['--storage-driver-table <name>', statistics, '1.37'],
  ['--storage-driver-user <name>', statistics, '1.37'],
];

/** Adds these flags, hidden in --help, so that the command line of a kubelet works unchanged. */
export function addFlagsWithoutEffect(command: Command): Command {
  for (const [flags] of flagsWithoutEffect) command.addOption(new Option(flags).hideHelp());
  return command;
}

/** Warnings about the given flags. */
export function warnOfFlags(values: object): ManifestProblem[] {
  const given = new Map<string, unknown>(Object.entries(values));
  return flagsWithoutEffect.flatMap(([flags, reason, since]) => {
    const { long, attributeName } = optionOf(flags);
    if (!given.has(attributeName)) return [];
    const refused = since === undefined ? '' : `; kubelets since Kubernetes ${since} refuse it`;
    const message = `without effect here: ${reason}${refused}`;
    return [{ origin: long, message, severity: 'warning' as const }];
  });
}

function optionOf(flags: string): { long: string; attributeName: string } {
  const option = new Option(flags);
  return { long: option.long ?? flags, attributeName: option.attributeName() };
}
