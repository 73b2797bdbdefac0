import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { parseLabelSelector } from '../api/values/label-selector.ts';
import type { PodStats, Summary } from '../engine/stats/summary.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { fetchStats } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { formatTable } from '../text/format-table.ts';
import { objectText } from './io/json-text.ts';
import { agentAnswer, agentSnapshot } from './pod/agent-snapshot.ts';
import { workloadNamed } from './objects/find-workload.ts';
import { joinKind } from './objects/kind-and-name.ts';
import type { PodReference } from './objects/pod-reference.ts';
import { podsShown } from './pod/resolve-pods.ts';
import type { IsOfWorkload } from './top/pods-of-workload.ts';
import { containerRows, nodeTable, podRows, type SortKey, usageTable } from './top/usage-rows.ts';

interface TopFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  namespace?: string;
  selector?: string;
  containers?: true;
  sortBy?: SortKey;
  output: 'table' | 'wide' | 'json' | 'yaml';
  headers: boolean;
  interactive?: true;
}

/** The table of the node, or of pods: all, or those that a name matches. */
type Subject = { kind: 'node' } | PodsSubject;

interface PodsSubject {
  kind: 'pods';
  /** Undefined for all pods. */
  name: string | undefined;
  isSelected: ((labels: Labels) => boolean) | undefined;
  /** Set if the name is that of a workload. */
  isOfWorkload?: IsOfWorkload | undefined;
}

type Labels = Readonly<Record<string, string>>;

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('top [what] [pod]'))
    .description('Show the CPU and memory that pods or the node use')
    .option('-n, --namespace <namespace>', 'show only this namespace')
    .option('-A, --all-namespaces', 'show all namespaces (default)')
    .option('-l, --selector <labels>', 'show only pods with these labels, such as app=web')
    .option('--containers', 'show each container')
    .addOption(new Option('--sort-by <column>', 'cpu or memory, largest first').choices(['cpu', 'memory']))
    .addOption(
      new Option('-o, --output <format>', 'wide, json or yaml')
        .choices(['table', 'wide', 'json', 'yaml'])
        .default('table'),
    )
    .option('-i, --interactive', 'show the screen, like kubelet-ts ui')
    .option('--no-headers', 'leave out the line of column names')
    .addHelpText('after', examples)
    .action(async (what: string | undefined, pod: string | undefined, flags: TopFlags) => {
      if (flags.interactive === true) {
        const { showUI } = await import('./run/show-ui.ts');
        await showUI(flags);
        return;
      }
      const named = subjectOf(what, pod, flags);
      const source = await statsSource(flags, deps);
      try {
        const subject = await withWorkload(named, source, flags);
        const summary = await currentSummary(source, subject, flags);
        deps.stdout.write(await formatted(summary, subject, flags));
      } finally {
        source.close();
      }
    });
}

const examples = `
Examples:
  kubelet-ts top                       shows all pods
  kubelet-ts top web                   shows the pod web
  kubelet-ts top web --containers      shows its containers
  kubelet-ts top deploy/web            shows all pods of the Deployment
  kubelet-ts top --sort-by memory      shows the largest pods first
  kubelet-ts top node                  shows the node
  kubelet-ts top -o json               prints all statistics, in the form of the kubelet's /stats/summary

CPU is the average since the previous sample, about ten seconds ago.`;

/** Throws a `UserError` for several pods, and for an invalid selector. */
function subjectOf(what: string | undefined, pod: string | undefined, { selector }: TopFlags): Subject {
  const isSelected = selector === undefined ? undefined : parseLabelSelector(selector);
  const isPods = what === undefined || ['pod', 'pods', 'po'].includes(what);
  if (isPods) return { kind: 'pods', name: pod, isSelected };
  const [name] = joinKind(pod === undefined ? [what] : [what, pod]);
  if (name !== what) return { kind: 'pods', name, isSelected };
  if (pod === undefined)
    return ['node', 'nodes', 'no'].includes(what) ? { kind: 'node' } : { kind: 'pods', name: what, isSelected };
  throw new UserError(`top accepts one pod, not "${what} ${pod}"`, { hint: 'Name it as in kubelet-ts top web.' });
}

/** A name such as `deploy/web` means all pods of the workload. */
async function withWorkload(subject: Subject, source: StatsSource, flags: TopFlags): Promise<Subject> {
  if (subject.kind === 'node' || workloadNamed(subject.name ?? '') === undefined) return subject;
  const { podsOfWorkload } = await import('./top/pods-of-workload.ts');
  return { ...subject, isOfWorkload: await podsOfWorkload(subject.name ?? '', flags, await source.snapshot()) };
}

/** Samples of the agent, or of the runtime and the machine while no agent answers. */
interface StatsSource {
  summary: (maxAgeMs: number) => Promise<Summary>;
  /** Resolves with undefined without an agent. */
  snapshot: () => Promise<EngineSnapshot | undefined>;
  /** Labels by pod UID. */
  labels: () => Promise<ReadonlyMap<string, Labels>>;
  close: () => void;
}

/** Samples of an agent are ten seconds apart. */
const maxAgeMs = 15_000;
/** Milliseconds between two samples that only this command takes. */
const windowMs = 500;

async function statsSource(flags: TopFlags, deps: CommandDeps): Promise<StatsSource> {
  const { rootDir } = flags;
  const cpuAndMemoryOnly = flags.output === 'table';
  const first = await agentAnswer(rootDir, deps.stderr, (path) => fetchStats(path, { maxAgeMs, cpuAndMemoryOnly }));
  if (first === 'none' || first === 'silent') return runtimeSource(flags, deps);
  const snapshot = (): Promise<EngineSnapshot | undefined> => agentSnapshot(rootDir, deps.stderr);
  return {
    summary: async (ageMs) => {
      if (ageMs > 0) return first;
      return (await fetchStats(controlSocketPath(rootDir), { maxAgeMs: ageMs, cpuAndMemoryOnly })) ?? first;
    },
    snapshot,
    labels: async () => {
      const { pods = [] } = (await snapshot()) ?? {};
      return new Map(pods.map(({ pod: { metadata } }) => [metadata.uid, metadata.labels ?? {}]));
    },
    close: () => undefined,
  };
}

async function runtimeSource(flags: TopFlags, deps: CommandDeps): Promise<StatsSource> {
  const { statsFromRuntime } = await import('../node/stats-from-runtime.ts');
  const connection = await deps.connect(flags);
  const stats = await statsFromRuntime(connection, flags.rootDir);
  return {
    summary: (ageMs) => stats.summary({ maxAgeMs: ageMs, cpuAndMemoryOnly: flags.output === 'table' }),
    snapshot: () => Promise.resolve(undefined),
    labels: async () => {
      const { items } = await connection.runtime.listPodSandbox();
      return new Map(items.map(({ metadata, labels }) => [metadata?.uid ?? '', labels]));
    },
    close: () => {
      connection.close();
    },
  };
}

/** The statistics of only the subject. Takes a second sample if there is no CPU usage yet, because that needs two. */
async function currentSummary(source: StatsSource, subject: Subject, flags: TopFlags): Promise<Summary> {
  const found = await select(await source.summary(maxAgeMs), source, subject, flags);
  if (found !== undefined && hasUsage(found, subject)) return found;
  await delay(windowMs);
  const again = await select(await source.summary(0), source, subject, flags);
  if (again !== undefined) return again;
  throw await noUsage(source, subject, flags);
}

async function noUsage(source: StatsSource, subject: Subject, { namespace }: TopFlags): Promise<UserError> {
  const { name = '', isOfWorkload } = subject.kind === 'pods' ? subject : {};
  const hint = 'Only running pods have usage. List all: kubelet-ts ps';
  if (isOfWorkload !== undefined) return new UserError(`no pod of ${visible(name)} runs`, { hint });
  const { unknownWorkload } = await import('./objects/unknown-workload.ts');
  const unknown = name.includes('/') ? await unknownWorkload(name, namespace, await source.snapshot()) : undefined;
  return unknown ?? new UserError(`no pod "${visible(name)}" runs`, { hint });
}

/** Resolves with undefined if no pod has the name of the subject. */
async function select(
  { node, pods }: Summary,
  source: StatsSource,
  subject: Subject,
  { namespace }: TopFlags,
): Promise<Summary | undefined> {
  if (subject.kind === 'node') return { node, pods };
  const reference = { pod: subject.name ?? '', namespace, nodeName: node.nodeName };
  const named = podsNamed(pods, subject, reference);
  if (subject.name !== undefined && named.length === 0) return undefined;
  const inNamespace = named.filter(({ podRef }) => namespace === undefined || podRef.namespace === namespace);
  const { isSelected } = subject;
  if (isSelected === undefined) return { node, pods: inNamespace };
  const labels = await source.labels();
  return { node, pods: inNamespace.filter(({ podRef }) => isSelected(labels.get(podRef.uid) ?? {})) };
}

function podsNamed(
  pods: readonly PodStats[],
  { name, isOfWorkload }: PodsSubject,
  reference: PodReference,
): PodStats[] {
  if (isOfWorkload !== undefined) return pods.filter(({ podRef }) => isOfWorkload(podRef));
  return name === undefined ? [...pods] : podsShown(pods, reference, ({ podRef }) => podRef);
}

function hasUsage({ node, pods }: Summary, { kind }: Subject): boolean {
  const parts = kind === 'node' ? [node] : pods.flatMap((pod) => [pod, ...pod.containers]);
  return parts.every(({ cpu }) => cpu === undefined || cpu.usageNanoCores !== undefined);
}

async function formatted(summary: Summary, { kind }: Subject, flags: TopFlags): Promise<string> {
  const { output, headers, sortBy, containers = false } = flags;
  const shown = kind === 'node' ? summary.node : summary;
  if (output === 'json' || output === 'yaml') return objectText(shown, output);
  const wide = output === 'wide';
  if (kind === 'pods' && summary.pods.length === 0) return headers ? 'No pods.\n' : '';
  const rows = containers ? containerRows : podRows;
  const table =
    kind === 'node'
      ? nodeTable(summary.node, { cores: cpus().length, wide })
      : usageTable(rows(summary.pods, sortBy), { containers, wide });
  return formatTable(headers ? table : table.slice(1));
}
