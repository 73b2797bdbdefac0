import { isPodReady } from '../../api/values/pod-conditions.ts';
import {
  ageText,
  lastExitText,
  podStatusText,
  pullText,
  readyText,
  restartsText,
} from '../../api/values/pod-printer.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import { type ListedPod, type ShownPod, shownRevisions } from './shown-revisions.ts';
import { boundedText } from '../../text/bounded-text.ts';
import { humanDuration } from '../../api/values/duration.ts';
import { isWell } from '../view/is-well.ts';

/** Longest reason if there is no terminal width to limit it, in characters. */
const maxReasonLength = 200;

export type StatusColour = 'gray' | 'green' | 'yellow' | 'red';

/** The list of pods, as cells. Plain data, because the agent sends it to `ps`. */
export interface PodTable {
  columns: string[];
  /** `colour` applies to the column STATUS. */
  rows: { cells: string[]; colour: StatusColour }[];
}

interface TableOptions {
  wide: boolean;
  /** Labels that each get a column. */
  labelKeys?: readonly string[];
  /** If true, one column has all labels. */
  showLabels?: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Returns the table of pods, as kubectl prints it: each pod once, with the reason why it is not Ready if the state of
 * the `node` is known. Leaves out the column of reasons if every pod is well.
 */
export async function podTable(
  pods: readonly ListedPod[],
  node: EngineSnapshot | undefined,
  { wide, labelKeys = [], showLabels = false, now }: TableOptions,
): Promise<PodTable> {
  const shown = shownRevisions(pods);
  const reasons = await podReasons(shown, node, now);
  const columns = [
    ...plainColumns,
    ...(wide ? wideColumns : []),
    ...labelKeys.map(labelColumn),
    ...(showLabels ? [labelsColumn] : []),
  ];
  const hasReasons = reasons.some((reason) => reason !== '');
  return {
    columns: [...columns.map(({ name }) => name), ...(hasReasons ? ['REASON'] : [])],
    rows: shown.map((pod, index) => ({
      cells: [...columns.map(({ value }) => value(pod, now)), ...(hasReasons ? [reasons[index] ?? ''] : [])],
      colour: statusColour(pod),
    })),
  };
}

function statusColour({ listed: { pod, worker, restarting } }: ShownPod): StatusColour {
  if (restarting !== undefined) return 'yellow';
  const text = podStatusText(pod, worker);
  if (text === 'Completed' || text === 'Succeeded') return 'gray';
  if (isPodReady(pod.status) && text === 'Running') return 'green';
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

/** Returns a text such as `Running (restarting)` or `Running (update: ErrImagePull)`. */
function statusText({ listed, update }: ShownPod): string {
  const text = podStatusText(listed.pod, listed.worker);
  if (listed.restarting !== undefined) return `${text} (restarting)`;
  if (listed.isUndeclared === true && update === undefined) return `${text} (undeclared)`;
  if (listed.waitingUpdate !== undefined) return `${text} (update: ${listed.waitingUpdate.reason})`;
  return update === undefined ? text : `${text} (update: ${podStatusText(update.pod, update.worker)})`;
}

/** Returns a text such as `sync, debugger-x7k2p, pulling 71% 12.3/17.4 MB`. */
function workerText({ listed: { pod, worker, pulls = [] }, update }: ShownPod): string {
  return [
    worker?.state ?? '<no agent>',
    ...(pod.spec.ephemeralContainers ?? []).map(({ name }) => name),
    ...[...pulls, ...(update?.pulls ?? [])].map((pull) => `pulling ${pullText(pull)}`),
  ].join(', ');
}

/**
 * Explains in one line why each pod is not Ready, as `explain` does. Empty for a pod that is well, and without an
 * agent. Loads the explanations only if a pod needs one.
 */
async function podReasons(pods: readonly ShownPod[], node: EngineSnapshot | undefined, now: number): Promise<string[]> {
  if (node === undefined || pods.every((shown) => isShownWell(shown, node))) return pods.map(() => '');
  const { explainPod } = await import('../explain/explain-pod.ts');
  return pods.map((shown) => {
    if (isShownWell(shown, node)) return '';
    const { listed, update } = shown;
    const { stage, cause, fixes, nextTryAt } = explainPod({ ...(update ?? listed), node });
    if (stage === 'running' || (stage === 'finished' && fixes.length === 0)) return '';
    const next = nextTryAt === undefined || nextTryAt <= now ? '' : `; next try in ${humanDuration(nextTryAt - now)}`;
    return boundedText(`${update === undefined ? '' : 'its update: '}${cause}${next}`, maxReasonLength);
  });
}

/** True if neither the pod nor its update needs an explanation. */
function isShownWell({ listed, update }: ShownPod, node: EngineSnapshot): boolean {
  return update === undefined && isWell(listed, node);
}
