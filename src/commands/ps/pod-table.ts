import {
  ageText,
  lastExitText,
  podStatusText,
  pullText,
  readyText,
  restartsText,
} from '../../api/values/pod-printer.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import type { Painter } from '../io/paint.ts';
import { formatTable } from '../io/format-table.ts';

/** A pod with data that only a running agent has. */
export type ListedPod = Pick<PodSnapshot, 'pod'> & Partial<PodSnapshot>;

/** One pod of the list: its current revision and the one that will replace it. */
export interface ShownPod {
  listed: ListedPod;
  update?: ListedPod;
}

export interface TableOptions {
  wide: boolean;
  /** Labels that have a column of their own. */
  labelKeys?: readonly string[];
  /** One column has all labels. */
  showLabels?: boolean;
  headers: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  /** Why each pod is not Ready. Empty for a pod that is. */
  reasons: readonly string[];
  maxWidth?: number | undefined;
  painter: Painter;
}

/** The table of pods, as by kubectl. The column of reasons is left out if every pod is well. */
export async function podTable(
  pods: readonly ShownPod[],
  { wide, labelKeys = [], showLabels = false, headers, now, reasons, maxWidth, painter }: TableOptions,
): Promise<string> {
  const columns = [
    ...plainColumns,
    ...(wide ? wideColumns : []),
    ...labelKeys.map(labelColumn),
    ...(showLabels ? [labelsColumn] : []),
  ];
  const hasReasons = reasons.some((reason) => reason !== '');
  const names = [...columns.map(({ name }) => name), ...(hasReasons ? ['REASON'] : [])];
  const rows = pods.map((pod, index) => [
    ...columns.map(({ value }) => value(pod, now)),
    ...(hasReasons ? [reasons[index] ?? ''] : []),
  ]);
  const style = (text: string, row: number, column: number): string => {
    if (headers && row === 0) return painter('bold', text);
    const pod = pods[headers ? row - 1 : row];
    return names[column] === 'STATUS' && pod !== undefined ? painter(statusColour(pod), text) : text;
  };
  return formatTable(headers ? [names, ...rows] : rows, { maxWidth, style });
}

function statusColour(shown: ShownPod): Parameters<Painter>[0] {
  const { pod } = shown.listed;
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  const text = podStatusText(pod, shown.listed.worker);
  if (text === 'Completed' || text === 'Succeeded') return 'gray';
  if (isReady && text === 'Running') return 'green';
  return /^(Running|NotReady|Pending|ContainerCreating|PodInitializing|Terminating|WaitingForPods|Init:\d)/.test(text)
    ? 'yellow'
    : 'red';
}

interface Column {
  name: string;
  value: (shown: ShownPod, now: number) => string;
}

const plainColumns: readonly Column[] = [
  { name: 'NAMESPACE', value: ({ listed: { pod } }) => pod.metadata.namespace },
  { name: 'NAME', value: ({ listed: { pod } }) => pod.metadata.name },
  { name: 'READY', value: ({ listed: { pod } }) => readyText(pod) },
  { name: 'STATUS', value: statusText },
  { name: 'RESTARTS', value: ({ listed: { pod } }, now) => restartsText(pod, now) },
  { name: 'AGE', value: ({ listed: { pod } }, now) => ageText(pod, now) },
];

const wideColumns: readonly Column[] = [
  { name: 'IP', value: ({ listed: { pod } }) => pod.status?.podIP ?? '<none>' },
  { name: 'NODE', value: ({ listed: { pod } }) => pod.spec.nodeName ?? '<none>' },
  { name: 'HOST IP', value: ({ listed: { pod } }) => pod.status?.hostIP ?? '<none>' },
  { name: 'LAST EXIT', value: ({ listed: { pod } }) => lastExitText(pod) || '<none>' },
  { name: 'WORKER', value: workerText },
];

const labelsColumn: Column = {
  name: 'LABELS',
  value: ({ listed: { pod } }) =>
    Object.entries(pod.metadata.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(',') || '<none>',
};

/** kubectl: get.go formatLabelHeaders and table_printer.go labelValues */
const labelColumn = (key: string): Column => ({
  name: key.slice(key.lastIndexOf('/') + 1).toUpperCase(),
  value: ({ listed: { pod } }) => pod.metadata.labels?.[key] ?? '<none>',
});

/** Such as `Running (update: ErrImagePull)`. */
function statusText({ listed, update }: ShownPod): string {
  const text = podStatusText(listed.pod, listed.worker);
  if (listed.waitingUpdate !== undefined) return `${text} (update: ${listed.waitingUpdate.reason})`;
  return update === undefined ? text : `${text} (update: ${podStatusText(update.pod, update.worker)})`;
}

/** Such as `sync, debugger-x7k2p, pulling 71% 12.3/17.4 MB`. */
function workerText({ listed: { pod, worker, pulls = [] }, update }: ShownPod): string {
  return [
    worker?.state ?? '<no agent>',
    ...(pod.spec.ephemeralContainers ?? []).map(({ name }) => name),
    ...[...pulls, ...(update?.pulls ?? [])].map((pull) => `pulling ${pullText(pull)}`),
  ].join(', ');
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
