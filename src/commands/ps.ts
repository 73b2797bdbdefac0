import { type Command, Option } from 'commander';
import { nodeWarnings } from '../engine/listing/node-warnings.ts';
import { podTable } from '../engine/listing/pod-table.ts';
import { type ListedPod, shownRevisions } from '../engine/listing/shown-revisions.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { podKey } from '../api/values/pod-names.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { withRuntime } from '../node/with-runtime.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectsFormat } from './output/objects-format.ts';
import { agentSnapshot } from './pod/agent-snapshot.ts';
import { otherResourceHint } from './objects/other-resources.ts';
import type { ChoiceFlags } from './ps/pod-selector.ts';
import { tableText } from './ps/table-text.ts';

interface PsFlags extends ChoiceFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  output: string;
  headers: boolean;
  quiet?: boolean;
  watch?: boolean;
  showLabels?: boolean;
  labelColumns?: string[];
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('ps'))
    .alias('get')
    .description('List the pods of this node')
    .usage('[options] [POD...]')
    .argument('[pods...]', 'names of pods, also after the word `pods` (default: all)')
    .option('-n, --namespace <namespace>', 'list only this namespace')
    .option('-A, --all-namespaces', 'list all namespaces (default)')
    .option('-l, --selector <selector>', 'list only pods with these labels, such as app=web,tier!=test')
    .option('--field-selector <selector>', 'list only pods with these fields, such as status.phase!=Running')
    .option('-L, --label-columns <keys>', 'add a column for the label of each key (repeatable)', labelKeys)
    .option('--show-labels', 'add a column of all labels')
    .option('--sort-by <path>', 'sort by a field, such as .status.startTime')
    .addOption(outputOption())
    .option('--no-headers', 'leave out the line of column names')
    .option('-q, --quiet', 'print only namespace/name of each pod')
    .addOption(new Option('-a, --all', 'no effect: all pods are listed').hideHelp())
    .option('-w, --watch', 'then print each pod that changes until stopped')
    .addHelpText('after', examples)
    .action(async (args: string[], flags: PsFlags) => {
      const { isNodeKind, listNode } = await import('./get-node.ts');
      if (isNodeKind(args[0])) {
        await listNode(args, flags, deps);
        return;
      }
      const { resolveObjects, listObjects } = await import('./get-objects.ts');
      const objects = resolveObjects(args);
      if (objects !== undefined) {
        if (flags.watch === true && objects.workloads.length + objects.kinds.length > 0)
          throw new UserError('-w watches only pods', { hint: 'For a rollout: kubelet-ts rollout status deploy/NAME' });
        if (objects.pods) await listPods(objects.names, flags, deps);
        const { workloads, names } = objects;
        if (workloads.length > 0) {
          const { listWorkloads } = await import('./workload/list-workloads.ts');
          await listWorkloads({ kinds: workloads, names }, { ...flags, isAll: objects.pods }, deps);
        }
        if (objects.kinds.length > 0) await listObjects(objects, flags, deps);
        if (objects.events) await (await import('./events.ts')).listEvents(deps, objects.names[0], flags);
        return;
      }
      await listPods(args, flags, deps);
    });
}

async function listPods(args: readonly string[], flags: PsFlags, deps: CommandDeps): Promise<void> {
  const names = podNames(args);
  const print = await printerFor(flags, names.length === 1, deps);
  const choose = await selectorFor(names, flags);
  if (flags.watch === true) {
    const { watchPods } = await import('./ps/watch-pods.ts');
    await watchPods(flags, deps, async (snapshot, isFirst) => {
      const pods = await choose(snapshot.pods, snapshot);
      return { pods, text: (own) => print(own, snapshot, isFirst && flags.headers) };
    });
    return;
  }
  const snapshot = await agentSnapshot(flags.rootDir, deps.stderr, 'nothing restarts or probes pods');
  if (snapshot !== undefined && flags.output === 'wide') deps.stderr.write(versionLine(snapshot));
  const all = snapshot?.pods ?? (await podsInRuntime(flags, deps));
  if (snapshot === undefined && all.length === 0) deps.stderr.write(await waitingApplied(flags.rootDir));
  const pods = await choose(all, snapshot);
  deps.stdout.write(await print(pods, snapshot, flags.headers));
  // A value without a line end would share its line with the first problem.
  if (flags.quiet !== true && !/^(name|jsonpath|custom-columns)/.test(flags.output)) {
    deps.stderr.write(warnings(snapshot, flags.output === 'wide'));
  }
}

/** The choices are for the help and the completion. `printerFor` accepts the formats with an argument. */
function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format, also jsonpath=TEMPLATE or custom-columns=SPEC')
    .choices(['wide', 'json', 'yaml', 'name', 'jsonpath=', 'custom-columns='])
    .argParser((text) => text)
    .default('table');
}

const examples = `
Examples:
  kubelet-ts ps                 lists pods with their status, and why one is not Ready
  kubelet-ts ps -w              prints each pod again when it changes
  kubelet-ts ps -l app=web      lists pods with this label
  kubelet-ts ps -L app,tier     adds the columns APP and TIER
  kubelet-ts ps --field-selector status.phase=Running
  kubelet-ts ps -o wide         adds address, node, last exit, the state of the pod worker, and all errors of manifests
  kubelet-ts ps -o json         prints a Kubernetes List
  kubelet-ts get pod web -o yaml
  kubelet-ts get deploy,job,svc lists other objects; also all, sts, cronjob, cm, pvc, nodes
  kubelet-ts ps -o jsonpath='{.items[*].status.podIP}'
  kubelet-ts ps -o custom-columns=NAME:.metadata.name,IP:.status.podIP

Problems of manifests go to stderr, except with -o name, jsonpath or custom-columns. More than three are counted per file;
-o wide prints each. To see why a pod is not Ready: kubelet-ts explain POD`;

/** Keys may be separated by commas too. */
const labelKeys = (text: string, earlier: readonly string[] = []): string[] => [
  ...earlier,
  ...text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== ''),
];

/** Drops the resource that kubectl expects: `get pods`, `get pod web`. */
export function podNames(args: readonly string[]): string[] {
  const [first = '', ...rest] = args;
  if (['pod', 'pods', 'po'].includes(first)) return rest;
  const hint = rest.length === 0 ? otherResourceHint(first) : undefined;
  if (hint !== undefined) throw new UserError(`kubelet-ts get cannot list "${visible(first)}"`, { hint });
  return [...args];
}

type PodSelector = (pods: readonly ListedPod[], node: EngineSnapshot | undefined) => Promise<readonly ListedPod[]>;

/** Prepares the selection of pods. Rejects with a `UserError` if the value of a flag is invalid. */
async function selectorFor(names: readonly string[], flags: PsFlags): Promise<PodSelector> {
  const { namespace, selector, fieldSelector, sortBy } = flags;
  const isChoice = [namespace, selector, fieldSelector, sortBy].some((flag) => flag !== undefined);
  if (names.length === 0 && !isChoice) return (pods) => Promise.resolve(pods);
  const { podSelector } = await import('./ps/pod-selector.ts');
  return podSelector(names, flags);
}

async function podsInRuntime(flags: PsFlags, deps: CommandDeps): Promise<ListedPod[]> {
  const { podsFromRuntime } = await import('../node/pods-from-runtime.ts');
  const pods = await withRuntime(deps.connect(flags), ({ runtime }) => podsFromRuntime(runtime, flags.rootDir));
  return pods.map((pod) => ({ pod }));
}

/** Names the applied objects that run once an agent starts. Empty if there are none or this user may not read them. */
async function waitingApplied(rootDir: string): Promise<string> {
  const [{ appliedObjects }, { appliedName }] = await Promise.all([
    import('./applied/applied-target.ts'),
    import('../engine/applied/applied-object.ts'),
  ]);
  const kept = await appliedObjects(rootDir).catch(() => []);
  if (kept.length === 0) return '';
  return `${visible(`applied, but waiting for an agent to start: ${kept.map(appliedName).join(', ')}`)}\n`;
}

type Printer = (pods: readonly ListedPod[], node: EngineSnapshot | undefined, headers: boolean) => Promise<string>;

/** Prepares the output. Throws a `UserError` for an unknown format. */
async function printerFor(
  { output, quiet = false, labelColumns = [], showLabels = false }: PsFlags,
  isSingle: boolean,
  { stdout }: CommandDeps,
): Promise<Printer> {
  if (quiet) {
    const names = (pods: readonly ListedPod[]): string[] =>
      shownRevisions(pods).map(({ listed: { pod } }) => `${podKey(pod.metadata)}\n`);
    return (pods) => Promise.resolve(names(pods).join(''));
  }
  switch (output) {
    case 'table':
    case 'wide':
      return async (pods, node, headers) => {
        const columns = { wide: output === 'wide', labelKeys: labelColumns, showLabels };
        const table = await podTable(pods, node, { ...columns, now: Date.now() });
        return tableText(table, { headers, stdout });
      };
    case 'name':
      return (pods) =>
        Promise.resolve(
          shownRevisions(pods)
            .map(({ listed: { pod } }) => `pod/${pod.metadata.name}\n`)
            .join(''),
        );
    default: {
      const ofObjects = await objectsFormat(output);
      return (pods, _node, headers) => ofObjects(pods.map(toObject), { isSingle, headers });
    }
  }
}

const toObject = ({ pod }: ListedPod): object => ({ apiVersion: 'v1', kind: 'Pod', ...pod });

/** Printed before the table, on stderr, because scripts read the table. */
function versionLine({ version = 'of an earlier release', nodeName, runtime }: EngineSnapshot): string {
  return `${visible(`node ${nodeName}: kubelet-ts ${version}, ${runtime.name} ${runtime.version}`)}\n`;
}

const warnings = (snapshot: EngineSnapshot | undefined, isWide: boolean): string =>
  (snapshot === undefined ? [] : nodeWarnings(snapshot, { wide: isWide, now: Date.now() }))
    .map((line) => `${line}\n`)
    .join('');
