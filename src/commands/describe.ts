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
    .description('Show a pod, its events, and the ends of its containers')
    .usage('[options] [POD...]')
    .argument('[pods...]', 'names of pods; the word `pod` may stand before them (default: all that the node has now)')
    .option('-n, --namespace <namespace>', 'namespace of the pods (default: all are searched)')
    .option('-A, --all-namespaces', 'pods of all namespaces (default)')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (words: string[], flags: DescribeFlags) => {
      const { resolveObjects: objectsMeant, listObjects } = await import('./get-objects.ts');
      const meant = objectsMeant(words);
      if (meant !== undefined && !meant.pods && !meant.events) {
        const { output = 'yaml' } = flags;
        await listObjects(meant, { ...flags, output: 'wide', headers: true }, deps);
        await listObjects(meant, { ...flags, output, headers: true }, deps);
        return;
      }
      const { findPods } = await import('./describe/find-pod.ts');
      const { agentSnapshot } = await import('./pod/agent-snapshot.ts');
      const found = await findPods(deps, podNames(words), flags, await agentSnapshot(flags.rootDir, deps.stderr));
      deps.stdout.write(await formatted(found, flags));
    });
}

/** Leaves out the resource of kubectl: `describe pod web`. */
function podNames(words: readonly string[]): readonly string[] {
  const [first = '', ...rest] = words;
  if (['pod', 'pods', 'po'].includes(first)) return rest;
  if (['node', 'nodes', 'no'].includes(first))
    throw new UserError('kubelet-ts describe cannot show nodes', {
      hint: 'Show the node: kubelet-ts top node, and kubelet-ts doctor',
    });
  return words;
}

const examples = `
The past outlives restarts of the agent, the runtime and the machine, and the pod itself.

Examples:
  kubelet-ts describe web
  kubelet-ts describe pods -n kube-system
  kubelet-ts describe kube-system/etcd -o json`;

async function formatted(found: readonly FoundPod[], { output }: DescribeFlags): Promise<string> {
  if (output !== undefined) return objectText(found.length === 1 && found[0] !== undefined ? found[0] : found, output);
  const { descriptionText } = await import('./describe/description-text.ts');
  if (found.length === 0) return 'No pods.\n';
  return (await Promise.all(found.map((pod) => descriptionText(pod, Date.now())))).join('\n\n');
}
