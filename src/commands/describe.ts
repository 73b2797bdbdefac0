import { type Command, Option } from 'commander';
import type { CommandDeps } from './io/deps.ts';
import type { FoundPod } from './describe/find-pod.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { objectText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface DescribeFlags extends PodFlags {
  output?: 'json' | 'yaml';
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('describe'))
    .description('Show a pod, its events, and the ends of its containers')
    .usage('[options] POD')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (name: string, flags: DescribeFlags) => {
      const { findPod } = await import('./describe/find-pod.ts');
      const { agentSnapshot } = await import('./pod/agent-snapshot.ts');
      const found = await findPod(deps, name, flags, await agentSnapshot(flags.rootDir, deps.stderr));
      deps.stdout.write(await formatted(found, flags));
    });
}

const examples = `
The past outlives restarts of the agent, the runtime and the machine, and the pod itself.

Examples:
  kubelet-ts describe web
  kubelet-ts describe kube-system/etcd -o json`;

async function formatted(found: FoundPod, { output }: DescribeFlags): Promise<string> {
  if (output !== undefined) return objectText(found, output);
  const { descriptionText } = await import('./describe/description-text.ts');
  return descriptionText(found, Date.now());
}
