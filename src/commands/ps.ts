import type { Command } from 'commander';
import { ageText, lastExitText, podStatusText, pullText, readyText, restartsText } from '../api/values/pod-printer.ts';
import { problemText } from '../api/values/problem-text.ts';
import { pressureText } from '../engine/view/pressure-text.ts';
import { reasons } from '../engine/view/reasons.ts';
import type { EngineSnapshot, PodSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { visible } from '../visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import { agentSnapshot } from './pod/agent-snapshot.ts';

type Output = 'table' | 'wide' | 'json' | 'yaml' | 'name';

interface PsFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  namespace?: string;
  output: Output;
  headers: boolean;
}

export function registerPs(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('ps'))
    .alias('get')
    .description('List the pods of this node')
    .option('-n, --namespace <namespace>', 'list only this namespace')
    .option('-o, --output <format>', 'wide, json, yaml or name', parseOutput, 'table')
    .option('--no-headers', 'leave out the line of column names')
    .addHelpText('after', examples)
    .action(async (flags: PsFlags) => {
      const snapshot = await agentSnapshot(flags.rootDir, deps.stderr, 'nothing restarts or probes these pods');
      const all = snapshot?.pods ?? (await podsInRuntime(flags, deps));
      const pods = all.filter(({ pod }) => flags.namespace === undefined || pod.metadata.namespace === flags.namespace);
      deps.stdout.write(await formatted(pods, flags));
      const isTable = flags.output === 'table' || flags.output === 'wide';
      deps.stderr.write((isTable ? waits(pods) : '') + warnings(snapshot));
    });
}

const examples = `
Examples:
  kubelet-ts ps                 lists pods with their status
  kubelet-ts ps -o wide         adds address, node, last exit and the state of the pod worker
  kubelet-ts ps -o json         prints a Kubernetes List
  kubelet-ts ps -o name         prints pod/NAME, one a line

Problems of manifests go to stderr.`;

function parseOutput(text: string): Output {
  if (text === 'wide' || text === 'json' || text === 'yaml' || text === 'name') return text;
  throw new UserError(`--output must be wide, json, yaml or name, not "${text}"`);
}

async function podsInRuntime(flags: PsFlags, deps: CommandDeps): Promise<ListedPod[]> {
  const { podsFromRuntime } = await import('../node/pods-from-runtime.ts');
  const endpoint = flags.containerRuntimeEndpoint;
  const connection = await deps.connect({
    rootDir: flags.rootDir,
    ...(endpoint === undefined ? {} : { runtimeEndpoint: endpoint }),
  });
  try {
    return (await podsFromRuntime(connection.runtime, flags.rootDir)).map((pod) => ({ pod }));
  } finally {
    connection.close();
  }
}

async function formatted(pods: readonly ListedPod[], { output, headers }: PsFlags): Promise<string> {
  switch (output) {
    case 'name':
      return shownRevisions(pods)
        .map(({ listed: { pod } }) => `pod/${pod.metadata.name}\n`)
        .join('');
    case 'json':
      return jsonText(toList(pods), 4);
    case 'yaml': {
      const { yamlText } = await import('./io/yaml-text.ts');
      return yamlText(toList(pods));
    }
    case 'table':
    case 'wide': {
      if (pods.length === 0) return headers ? 'No pods.\n' : '';
      const { formatTable } = await import('./io/format-table.ts');
      const columns = output === 'wide' ? [...plainColumns, ...wideColumns] : plainColumns;
      const now = Date.now();
      const rows = shownRevisions(pods).map((shown) => columns.map(({ value }) => value(shown, now)));
      return formatTable(headers ? [columns.map(({ name }) => name), ...rows] : rows);
    }
  }
}

interface Column {
  name: string;
  value: (shown: ShownPod, now: number) => string;
}

const plainColumns: Column[] = [
  { name: 'NAMESPACE', value: ({ listed: { pod } }) => pod.metadata.namespace },
  { name: 'NAME', value: ({ listed: { pod } }) => pod.metadata.name },
  { name: 'READY', value: ({ listed: { pod } }) => readyText(pod) },
  { name: 'STATUS', value: statusText },
  { name: 'RESTARTS', value: ({ listed: { pod } }, now) => restartsText(pod, now) },
  { name: 'AGE', value: ({ listed: { pod } }, now) => ageText(pod, now) },
];

const wideColumns: Column[] = [
  { name: 'IP', value: ({ listed: { pod } }) => pod.status?.podIP ?? '<none>' },
  { name: 'NODE', value: ({ listed: { pod } }) => pod.spec.nodeName ?? '<none>' },
  { name: 'HOST IP', value: ({ listed: { pod } }) => pod.status?.hostIP ?? '<none>' },
  { name: 'LAST EXIT', value: ({ listed: { pod } }) => lastExitText(pod) || '<none>' },
  { name: 'WORKER', value: workerText },
];

/** Such as `Running (update: ErrImagePull)`. */
function statusText({ listed, update }: ShownPod): string {
  const text = podStatusText(listed.pod, listed.worker);
  if (listed.waitingUpdate !== undefined) return `${text} (update: ${listed.waitingUpdate.reason})`;
  return update === undefined ? text : `${text} (update: ${podStatusText(update.pod, update.worker)})`;
}

/** Such as `sync, pulling 71% 12.3/17.4 MB`. */
function workerText({ listed: { worker, pulls = [] }, update }: ShownPod): string {
  return [
    worker?.state ?? '<no agent>',
    ...[...pulls, ...(update?.pulls ?? [])].map((pull) => `pulling ${pullText(pull)}`),
  ].join(', ');
}

function toList(pods: readonly ListedPod[]): { apiVersion: 'v1'; kind: 'List'; items: object[] } {
  const items = pods.map(({ pod }) => ({ apiVersion: 'v1', kind: 'Pod', ...pod }));
  return { apiVersion: 'v1', kind: 'List', items };
}

/** Why pods or their updates wait, or were not admitted, which the table has no room for. */
function waits(pods: readonly ListedPod[]): string {
  return pods
    .flatMap(({ pod: { metadata, status }, rejection, waitingUpdate }) => {
      const isWaiting = rejection !== undefined || status?.reason === reasons.waitingForPods;
      const messages = [...(isWaiting ? [status?.message ?? ''] : []), waitingUpdate?.message ?? []].flat();
      return messages.map((message) => `${visible(`${metadata.namespace}/${metadata.name}: ${message}`)}\n`);
    })
    .join('');
}

/** More would scroll the table off the screen. */
const maxWarnings = 50;

function warnings(snapshot: EngineSnapshot | undefined): string {
  const problems = snapshot?.sources.flatMap((source) => source.problems) ?? [];
  const now = Date.now();
  const told = problems.toSorted((a, b) => a.severity.localeCompare(b.severity));
  const lines = told.slice(0, maxWarnings).map((problem) => problemText(problem, now));
  if (told.length > maxWarnings) lines.push(`and ${told.length - maxWarnings} more: kubelet-ts validate shows all`);
  const pressures =
    snapshot?.pressures.map((pressure) => visible(`warning: node ${pressureText(pressure, now)}`)) ?? [];
  lines.unshift(...pressures);
  if (snapshot?.runtime.error !== undefined) lines.unshift(visible(`error: ${snapshot.runtime.error}`));
  return lines.map((line) => `${line}\n`).join('');
}

/** A pod with data that only a running agent has. */
export type ListedPod = Pick<PodSnapshot, 'pod'> &
  Partial<Pick<PodSnapshot, 'worker' | 'pulls' | 'replacedBy' | 'rejection' | 'waitingUpdate'>>;

/** One pod of the list: its current revision and the one that will replace it. */
interface ShownPod {
  listed: ListedPod;
  update?: ListedPod;
}

/** Each pod once: the running revision before an ending one, before a waiting one. */
export function shownRevisions(pods: readonly ListedPod[]): ShownPod[] {
  const byName = new Map<string, ListedPod[]>();
  for (const listed of pods) {
    const key = `${listed.pod.metadata.namespace}/${listed.pod.metadata.name}`;
    byName.set(key, [...(byName.get(key) ?? []), listed]);
  }
  return [...byName.values()].flatMap((revisions) => {
    const earlier = revisions.filter(({ replacedBy }) => replacedBy !== undefined);
    const declared = revisions.find(({ replacedBy }) => replacedBy === undefined);
    if (earlier.length === 0) return revisions.map((listed) => ({ listed }));
    const listed = earlier.find(({ worker }) => worker?.state === 'sync') ?? earlier[0];
    return listed === undefined ? [] : [{ listed, ...(declared && { update: declared }) }];
  });
}
