import { type Command, Option } from 'commander';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { LocatedExplanation } from './explain/explained-pod.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface ExplainFlags extends PodFlags {
  output?: 'json' | 'yaml';
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('explain'))
    .description('Explain why a pod is not Ready, and what to do')
    .usage('[options] POD')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (name: string, flags: ExplainFlags) => {
      refuseFields(name);
      const { explainedPod } = await import('./explain/explained-pod.ts');
      deps.stdout.write(await formatted(await explainedPod(deps, name, flags), flags, deps));
    });
}

/** kubectl's `explain` describes fields of the API. */
function refuseFields(word: string): void {
  if (!/^(pods|services|deployments|(pods?|deploy(ments?)?|services?|jobs?)\.[\w.]+)$/i.test(word)) return;
  throw new UserError('explain says why a pod is not Ready; it does not describe fields', {
    hint: 'Name a pod: kubelet-ts explain POD. docs/use/manifests.md lists the fields of manifests.',
  });
}

const examples = `
Also explains a pod whose manifest cannot be read.

Examples:
  kubelet-ts explain web
  kubelet-ts explain kube-system/etcd -o json`;

async function formatted(
  explained: LocatedExplanation,
  { output }: ExplainFlags,
  { stdout }: CommandDeps,
): Promise<string> {
  if (output !== undefined) return objectText({ ...explained, text: undefined }, output);
  const [{ explanationText }, { paint }, { isColoured }] = await Promise.all([
    import('./explain/explanation-text.ts'),
    import('./io/paint.ts'),
    import('./io/terminal.ts'),
  ]);
  return explanationText(explained, Date.now(), paint(isColoured(stdout)));
}
