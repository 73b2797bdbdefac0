import type { Command } from 'commander';
import { appliedName } from '../engine/applied/applied-object.ts';
import { maxReplicas } from '../api/values/workload.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { operateWorkloads, type WorkloadFlags } from './workload/operate-workloads.ts';

interface ScaleFlags extends WorkloadFlags {
  replicas: number;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('scale'))
    .description('Set the number of pods of a workload')
    .argument('<workloads...>', 'deploy/NAME, sts/NAME or rs/NAME, also as two words')
    .requiredOption('--replicas <count>', 'how many pods to run', parseCount)
    .option('-n, --namespace <namespace>', 'namespace of the workload (default: all are searched)')
    .addHelpText('after', help)
    .action(async (args: string[], flags: ScaleFlags) => {
      await operateWorkloads(args, flags, deps, {
        action: 'scale',
        options: { replicas: flags.replicas },
        shown: (workload, done) => visible(`${appliedName(workload)} ${done}`),
      });
    });
}

const help = `
The count holds, also across restarts, until the replicas in the manifest change.

Examples:
  kubelet-ts scale deploy/web --replicas 3
  kubelet-ts scale sts db --replicas=0`;

function parseCount(text: string): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Infinity;
  if (count <= maxReplicas) return count;
  throw new UserError(`--replicas must be a number from 0 to ${maxReplicas}, not "${text}"`);
}
