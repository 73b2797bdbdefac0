import { type Command, InvalidArgumentError } from 'commander';
import { duration, list, wholeNumber } from './flag-values.ts';

/** Adds the flags about what a node gives to pods and what it keeps. */
export function addResourceOptions(command: Command): Command {
  return command
    .option('--max-pods <n>', 'pods that may run at a time', wholeNumber, 110)
    .option(
      '--pods-per-core <n>',
      'pods that may run at a time for each processor; 0 for no such limit',
      wholeNumber,
      0,
    )
    .option('--system-reserved <name=amount>', 'kept for the system, such as cpu=500m,memory=1Gi', list)
    .option('--kube-reserved <name=amount>', 'kept for this agent and the runtime, as --system-reserved', list)
    .option('--system-reserved-cgroup <path>', 'cgroup of the system, when its share is enforced', '')
    .option('--kube-reserved-cgroup <path>', 'cgroup of agent and runtime, when their share is enforced', '')
    .option('--enforce-node-allocatable <names>', 'what the kernel holds to its share (default: pods)', list)
    .option('--cgroups-per-qos [boolean]', 'cgroups for pods and QoS classes', boolean, true)
    .option('--pod-max-pids <n>', 'processes a pod may have; -1 for no limit', wholeOrNegative, -1)
    .option('--cpu-cfs-quota [boolean]', 'enforce CPU limits', boolean, true)
    .option('--cpu-cfs-quota-period <duration>', 'period of CPU limits, 1ms to 1s (default: 100ms)', duration)
    .option('--allowed-unsafe-sysctls <patterns>', 'sysctls that pods may set, such as net.core.*', list)
    .option('--node-labels <key=value>', 'more labels of the node, for nodeSelector and affinity', list);
}

/** As Go reads a boolean flag: without a value it is true. */
function boolean(text: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return false;
  throw new InvalidArgumentError('It must be true or false.');
}

function wholeOrNegative(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
