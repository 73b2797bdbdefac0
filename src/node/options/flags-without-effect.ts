import { type Command, Option } from 'commander';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';

const apiServer = 'there is no API server';
const remains = 'the remains of a pod go with the pod';
const removed = 'the kubelet has no use for it any more either';
const cni = 'network plugins are set up at the container runtime';
const dockershim = 'Docker is asked over CRI, by cri-dockerd';
const statistics = 'statistics are read when they are asked for';
const stderr = 'the log goes to stderr; --log-level sets the least severe level';
const test = 'it was for tests of the kubelet';

/**
 * A flag of the kubelet in commander's notation, why it has no effect, and, if known, the Kubernetes release since
 * which it has none in the kubelet either.
 */
export type FlagWithoutEffect = readonly [flags: string, reason: string, since?: string];

/**
 * The flags of kubelets since 1.18 that are not fields of the configuration and have no effect here. The reference
 * kubelet refuses those with a release.
 */
export const flagsWithoutEffect: readonly FlagWithoutEffect[] = [
  ['--add-dir-header [boolean]', stderr, '1.26'],
  ['--allow-privileged [boolean]', 'a pod says itself what is privileged', '1.15'],
  ['--alsologtostderr [boolean]', stderr, '1.26'],
  ['--application-metrics-count-limit <n>', statistics],
  ['--azure-container-registry-config <path>', '--image-credential-provider-config takes its place'],
  ['--boot-id-file <paths>', statistics],
  ['--bootstrap-kubeconfig <path>', apiServer],
  ['--cadvisor-port <port>', statistics, '1.12'],
  ['--chaos-chance <share>', test, '1.22'],
  ['--cloud-config <path>', apiServer],
  ['--cloud-provider <name>', apiServer],
  ['--cni-bin-dir <path>', cni, '1.24'],
  ['--cni-cache-dir <path>', cni, '1.24'],
  ['--cni-conf-dir <path>', cni, '1.24'],
  ['--container-hints <path>', statistics],
  ['--container-runtime <name>', 'every runtime is asked over CRI; --container-runtime-endpoint names it', '1.27'],
  ['--containerd <endpoint>', statistics],
  ['--containerd-namespace <name>', statistics],
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
  ['--enable-load-reader [boolean]', statistics],
  ['--event-storage-age-limit <durations>', statistics],
  ['--event-storage-event-limit <numbers>', statistics],
  ['--exit-on-lock-contention [boolean]', 'the control socket is the lock of the root-dir'],
  ['--experimental-allocatable-ignore-eviction [boolean]', removed],
  ['--experimental-bootstrap-kubeconfig <path>', apiServer, '1.23'],
  ['--experimental-check-node-capabilities-before-mount [boolean]', removed, '1.24'],
  ['--experimental-dockershim-root-directory <path>', dockershim, '1.24'],
  ['--experimental-kernel-memcg-notification [boolean]', '--kernel-memcg-notification took its place', '1.25'],
  ['--experimental-logging-sanitization [boolean]', removed],
  ['--experimental-mounter-path <path>', removed],
  ['--global-housekeeping-interval <duration>', statistics],
  ['--housekeeping-interval <duration>', statistics],
  ['--image-pull-progress-deadline <duration>', dockershim, '1.24'],
  ['--keep-terminated-pod-volumes [boolean]', remains, '1.31'],
  ['--kubeconfig <path>', apiServer],
  ['--lock-file <path>', 'the control socket is the lock of the root-dir'],
  ['--log-backtrace-at <place>', stderr, '1.26'],
  ['--log-cadvisor-usage [boolean]', statistics],
  ['--log-dir <path>', stderr, '1.26'],
  ['--log-file <path>', stderr, '1.26'],
  ['--log-file-max-size <megabytes>', stderr, '1.26'],
  ['--logtostderr [boolean]', stderr, '1.26'],
  ['--machine-id-file <paths>', statistics],
  ['--master-service-namespace <name>', apiServer, '1.27'],
  ['--max-housekeeping-interval <duration>', statistics],
  ['--network-plugin <name>', cni, '1.24'],
  ['--non-masquerade-cidr <cidr>', cni, '1.24'],
  ['--one-output [boolean]', stderr, '1.26'],
  ['--pod-infra-container-image <image>', 'the runtime chooses the pause image'],
  ['--really-crash-for-testing [boolean]', test],
  ['--redirect-container-streaming [boolean]', 'streams always pass through the agent', '1.20'],
  ['--register-schedulable [boolean]', apiServer],
  ['--runtime-cgroups <path>', 'the runtime stays in the cgroup it was started in'],
  ['--seccomp-profile-root <path>', 'profiles are in seccomp/ below --root-dir', '1.23'],
  ['--skip-headers [boolean]', stderr, '1.26'],
  ['--skip-log-headers [boolean]', stderr, '1.26'],
  ['--stderrthreshold <level>', stderr, '1.26'],
  ['--storage-driver-buffer-duration <duration>', statistics],
  ['--storage-driver-db <name>', statistics],
  ['--storage-driver-host <address>', statistics],
  ['--storage-driver-password <password>', statistics],
  ['--storage-driver-secure [boolean]', statistics],
  ['--storage-driver-table <name>', statistics],
  ['--storage-driver-user <name>', statistics],
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
    const message = `without effect ${since === undefined ? 'here' : `since Kubernetes ${since}`}: ${reason}`;
    return [{ origin: long, message, severity: 'warning' as const }];
  });
}

function optionOf(flags: string): { long: string; attributeName: string } {
  const option = new Option(flags);
  return { long: option.long ?? flags, attributeName: option.attributeName() };
}
