import { type Command, Option } from 'commander';
import type { ManifestProblem } from '../api/manifest-problem.ts';

const apiServer = 'there is no API server';
const server = 'the HTTPS server of the kubelet is not built yet';
const remains = 'the remains of a pod go with the pod';
const removed = 'the kubelet has no use for it any more either';

/** The kubelet's flags that are no fields of its configuration and have nothing to act on here. */
export const flagsWithoutEffect: readonly (readonly [flags: string, reason: string])[] = [
  ['--bootstrap-kubeconfig <path>', apiServer],
  ['--cert-dir <path>', server],
  ['--cloud-config <path>', apiServer],
  ['--cloud-provider <name>', apiServer],
  ['--exit-on-lock-contention [boolean]', 'the control socket is the lock of the root-dir'],
  ['--experimental-allocatable-ignore-eviction [boolean]', removed],
  ['--experimental-mounter-path <path>', removed],
  ['--housekeeping-interval <duration>', 'no statistics are kept'],
  ['--kubeconfig <path>', apiServer],
  ['--lock-file <path>', 'the control socket is the lock of the root-dir'],
  ['--maximum-dead-containers <n>', remains],
  ['--maximum-dead-containers-per-container <n>', remains],
  ['--minimum-container-ttl-duration <duration>', remains],
  ['--pod-infra-container-image <image>', 'the runtime chooses the pause image'],
  ['--runtime-cgroups <path>', 'the runtime stays in the cgroup it was started in'],
];

/** Adds those flags, so that the command line of a kubelet works as it is. --help does not show them. */
export function addFlagsWithoutEffect(command: Command): Command {
  for (const option of options()) command.addOption(option.hideHelp());
  return command;
}

/** What to say about those that were given. */
export function warnOfFlags(values: object): ManifestProblem[] {
  const given = new Map<string, unknown>(Object.entries(values));
  return options()
    .filter((option) => given.has(option.attributeName()))
    .map(({ long, description }) => ({
      origin: long ?? '',
      message: `without effect here: ${description}`,
      severity: 'warning',
    }));
}

const options = (): Option[] => flagsWithoutEffect.map(([flags, reason]) => new Option(flags, reason));
