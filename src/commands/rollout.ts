import { type Command, Option } from 'commander';
import { isReplicatedKind } from '../api/values/workload.ts';
import { appliedName } from '../engine/applied/applied-object.ts';
import type { WorkloadAction } from '../engine/workloads/workload-operations.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions, seconds } from '../node/options/flags.ts';
import { visible } from '../text/visible-text.ts';
import { printHistory } from './history.ts';
import type { CommandDeps } from './io/deps.ts';
import { parseRevision } from './operate.ts';
import { operateWorkloads, type WorkloadFlags, workloadsNamed } from './workload/operate-workloads.ts';
import { waitForRollOut } from './workload/wait-for-roll-out.ts';

const actions: readonly { name: WorkloadAction; description: string }[] = [
  { name: 'undo', description: 'Go back to an earlier revision, until the manifest changes' },
  { name: 'restart', description: 'Replace all pods, as if the template had changed' },
  { name: 'pause', description: 'Keep pods at their revision' },
  { name: 'resume', description: 'Continue a paused rollout' },
];

export function register(program: Command, deps: CommandDeps): void {
  const rollout = program
    .command('rollout')
    .description('Show, wait for and change the rollout of a workload')
    .addHelpText('after', help);
  const subcommand = (name: string, description: string): Command =>
    addRuntimeOptions(rollout.command(name))
      .description(description)
      .argument('<workloads...>', 'deploy/NAME, sts/NAME, ds/NAME or rs/NAME, also as two words')
      .option('-n, --namespace <namespace>', 'namespace of the workload (default: all are searched)');
  subcommand('status', 'Wait until all pods are updated and available')
    .addOption(new Option('-w, --watch [boolean]', 'wait').choices(['true', 'false']).default('true'))
    .option('--timeout <duration>', 'wait at most this long; 0 means no limit (default: 0)', seconds)
    .action(async (args: string[], flags: WorkloadFlags & { watch: string; timeout?: number }) => {
      const { socket, workloads } = await rolledOut('status', args, flags, deps);
      for (const workload of workloads) {
        await waitForRollOut(workload, socket, deps, { isWaiting: flags.watch !== 'false', timeoutMs: flags.timeout });
      }
    });
  subcommand('history', 'List the revisions of the first pod').action(async (args: string[], flags: WorkloadFlags) => {
    const { socket, workloads } = await rolledOut('history', args, flags, deps);
    for (const { namespace, pods } of workloads) {
      for (const name of pods.slice(0, 1)) await printHistory({ namespace, name }, socket, deps);
    }
  });
  for (const { name, description } of actions) {
    const command = subcommand(name, description);
    if (name === 'undo')
      command.option('--to-revision <revision>', 'number that history shows', (text) =>
        parseRevision(text, '--to-revision', 'rollout history WORKLOAD'),
      );
    command.action(async (args: string[], flags: WorkloadFlags & { toRevision?: number }) => {
      const { toRevision: to } = flags;
      await operateWorkloads(args, flags, deps, {
        action: name,
        ...(to !== undefined && { options: { to } }),
        shown: (workload, done) => visible(`${appliedName(workload)} ${done}`),
      });
    });
  }
}

/** Finds the workloads that the args name. Rejects with a `UserError` if one of them is a Job or CronJob. */
async function rolledOut(name: string, ...args: Parameters<typeof workloadsNamed>): ReturnType<typeof workloadsNamed> {
  const named = await workloadsNamed(...args);
  for (const { kind } of named.workloads) {
    if (!isReplicatedKind(kind)) throw new UserError(`${name} is not for a ${kind}`);
  }
  return named;
}

const help = `
Examples:
  kubelet-ts rollout status deploy/web
  kubelet-ts rollout undo deploy/web
  kubelet-ts rollout restart sts db`;
