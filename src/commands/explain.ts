import { type Command, Option } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import type { EngineSnapshot, WorkloadSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { LocatedExplanation } from './explain/explained-pod.ts';
import type { ServiceExplanation } from './explain/explained-service.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface ExplainFlags extends PodFlags {
  output?: 'json' | 'yaml';
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('explain'))
    .description('Explain why a pod, workload or Service is not Ready, and what to do')
    .usage('[options] POD')
    .argument('<pod...>', 'a pod: name, name without the node, or namespace/name; or such as deploy/web or svc/web')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (args: string[], flags: ExplainFlags) => {
      const [
        { explainedPod },
        { workloadAt },
        { hasCommands, joinKind, kindAndName },
        { withoutPodKind },
        { agentSnapshot },
      ] = await Promise.all([
        import('./explain/explained-pod.ts'),
        import('./objects/find-workload.ts'),
        import('./objects/kind-and-name.ts'),
        import('./pod/resolve-pods.ts'),
        import('./pod/agent-snapshot.ts'),
      ]);
      const [name = '', ...others] = joinKind(withoutPodKind(args), hasCommands);
      if (others.length > 0) throw new UserError('name one pod, workload or Service');
      refuseFields(name);
      const named = kindAndName(name);
      if (named?.kind === 'Service') {
        await explainOneService(named.name, flags, deps);
        return;
      }
      const snapshot = name.includes('/') ? await agentSnapshot(flags.rootDir, deps.stderr) : undefined;
      const workload = snapshot && workloadAt(snapshot, name, flags.namespace);
      if (snapshot && workload) await explainOne(snapshot, workload, flags, deps);
      else deps.stdout.write(await formatted(await explainedPod(deps, name, flags), flags, deps));
    });
}

async function explainOneService(name: string, flags: ExplainFlags, deps: CommandDeps): Promise<void> {
  const [{ explainedService }, { agentSnapshot }, { noAgent }] = await Promise.all([
    import('./explain/explained-service.ts'),
    import('./pod/agent-snapshot.ts'),
    import('../server/control/no-agent.ts'),
  ]);
  const snapshot = await agentSnapshot(flags.rootDir, deps.stderr);
  if (snapshot === undefined) throw noAgent(flags.rootDir, { consequence: 'so the state of Services is unknown' });
  deps.stdout.write(await formatted(await explainedService(name, flags, snapshot), flags, deps));
}

/** Explains a workload, and its pods that are not well. Of a CronJob only those of its last run. */
async function explainOne(
  snapshot: EngineSnapshot,
  workload: WorkloadSnapshot,
  flags: ExplainFlags,
  deps: CommandDeps,
): Promise<void> {
  const [{ explainWorkload }, { explainedPod }, { workloadExplanationText }, { podsOfRun, podsOfWorkload }, output] =
    await Promise.all([
      import('./explain/explained-workload.ts'),
      import('./explain/explained-pod.ts'),
      import('./explain/explanation-text.ts'),
      import('./objects/find-workload.ts'),
      outputModules(),
    ]);
  const now = Date.now();
  const explained = explainWorkload(workload, now);
  const last = workload.cronJob?.jobs.at(-1)?.name;
  const pods = last === undefined ? podsOfWorkload(snapshot, workload) : podsOfRun(snapshot, workload, last);
  const unfinished = pods.filter(({ pod }) => pod.status?.phase !== 'Succeeded');
  const ofPods = await Promise.all(unfinished.map(({ pod }) => explainedPod(deps, podKey(pod.metadata), flags)));
  const unwell = ofPods.filter(({ stage, fixes }) => stage !== 'running' || fixes.length > 0);
  if (flags.output !== undefined) {
    const shown = unwell.map((one) => ({ ...one, text: undefined }));
    deps.stdout.write(await objectText({ ...explained, pods: shown }, flags.output));
  } else {
    const painter = output.paint(output.isColoured(deps.stdout));
    deps.stdout.write(workloadExplanationText(explained, unwell.slice(0, maxPods), now, painter));
  }
}

/** More pods usually fail for the same reason. */
const maxPods = 3;

/** kubectl's `explain` describes fields of the API. */
function refuseFields(word: string): void {
  if (!/^(pods|services|deployments|(pods?|deploy(ments?)?|services?|jobs?)\.[\w.]+)$/i.test(word)) return;
  throw new UserError('explain says why a pod is not Ready; it does not describe fields', {
    hint: 'Name a pod: kubelet-ts explain POD. docs/use/manifests.md lists the fields of manifests.',
  });
}

const outputModules = async () => ({ ...(await import('./io/paint.ts')), ...(await import('./io/terminal.ts')) });

const examples = `
Also explains a pod whose manifest cannot be read.

Examples:
  kubelet-ts explain web
  kubelet-ts explain deploy/web
  kubelet-ts explain svc/web
  kubelet-ts explain kube-system/etcd -o json`;

async function formatted(
  explained: LocatedExplanation | ServiceExplanation,
  { output }: ExplainFlags,
  { stdout }: CommandDeps,
): Promise<string> {
  if (output !== undefined) return objectText({ ...explained, text: undefined }, output);
  const [{ explanationText }, { paint, isColoured }] = await Promise.all([
    import('./explain/explanation-text.ts'),
    outputModules(),
  ]);
  return explanationText(explained, Date.now(), paint(isColoured(stdout)));
}
