import { type Command, Option } from 'commander';
import type { CommandDeps } from './io/deps.ts';
import type { FoundPod } from './describe/find-pod.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { objectText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface DescribeFlags extends PodFlags {
  output?: 'json' | 'yaml';
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('describe'))
    .description('Show a pod with its events and past container exits, a workload or a Service')
    .usage('[options] [POD...]')
    .argument('[pods...]', 'names of pods, or other objects such as deploy/web or svc web (default: all current pods)')
    .option('-n, --namespace <namespace>', 'namespace of the pods (default: all are searched)')
    .option('-A, --all-namespaces', 'pods of all namespaces (default)')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (args: string[], flags: DescribeFlags) => {
      const { resolveObjects } = await import('./get-objects.ts');
      const objects = resolveObjects(args);
      if (objects !== undefined && !objects.pods && !objects.events) {
        const { describeOthers } = await import('./describe/describe-others.ts');
        if (await describeOthers(objects, flags, deps)) return;
      }
      const { findPods } = await import('./describe/find-pod.ts');
      const { agentSnapshot } = await import('./pod/agent-snapshot.ts');
      const { joinKind } = await import('./objects/kind-and-name.ts');
      const names = joinKind(podNames(args));
      const found = await findPods(deps, names, flags, await agentSnapshot(flags.rootDir, deps.stderr));
      deps.stdout.write(await formatted(found, flags));
    });
}

/** Drops the resource that kubectl expects: `describe pod web`. */
function podNames(args: readonly string[]): readonly string[] {
  const [first = '', ...rest] = args;
  if (['pod', 'pods', 'po'].includes(first)) return rest;
  if (['node', 'nodes', 'no'].includes(first))
    throw new UserError('kubelet-ts describe cannot show nodes', {
      hint: 'Show the node: kubelet-ts top node, and kubelet-ts doctor',
    });
  return args;
}

const examples = `
Events and exits are kept across restarts of agent, runtime and machine, and after the pod is deleted.

Examples:
  kubelet-ts describe web
  kubelet-ts describe pods -n kube-system
  kubelet-ts describe deploy/web
  kubelet-ts describe kube-system/etcd -o json`;

async function formatted(found: readonly FoundPod[], { output }: DescribeFlags): Promise<string> {
  if (output !== undefined) return objectText(found.length === 1 && found[0] !== undefined ? found[0] : found, output);
  const { descriptionText } = await import('./describe/description-text.ts');
  if (found.length === 0) return 'No pods.\n';
  return (await Promise.all(found.map((pod) => descriptionText(pod, Date.now())))).join('\n\n');
}
