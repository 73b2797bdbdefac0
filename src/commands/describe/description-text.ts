import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { PodSpec } from '../../api/types.ts';
import { podStatusText, pullText } from '../../api/values/pod-printer.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { pressureText } from '../../engine/view/pressure-text.ts';
import { containersText } from './containers-text.ts';
import { fields, timeText } from './field-text.ts';
import type { FoundPod } from './find-pod.ts';
import { historyText } from './history-text.ts';

/** The full description of a pod in the layout of `kubectl describe`. `now` is in milliseconds since the epoch. */
export async function descriptionText(found: FoundPod, now: number): Promise<string> {
  const { namespace, name, pods, history, runtimeError } = found;
  const pressures = (found.pressures ?? []).map((pressure) => pressureText(pressure, now)).join('\n');
  const manifest = (found.manifestProblems ?? []).map((problem) => problemText(problem, now)).join('\n');
  const removed = fields(0, [
    ['Name', name],
    ['Namespace', namespace],
    ['Manifest', manifest],
    ['Status', runtimeError === undefined ? 'removed' : `unknown: ${runtimeError}`],
  ]);
  const shown =
    pods.length === 0
      ? [removed]
      : pods.map((pod) => podText(pod, { problems: found.manifestProblems ?? [], pressures, now }));
  return `${shown.join('\n')}${await historyText(history, now)}`;
}

function podText(
  { pod, source, declaredBy, worker, rejection, pulls = [], ...update }: FoundPod['pods'][number],
  { problems, pressures, now }: { problems: readonly ManifestProblem[]; pressures: string; now: number },
): string {
  const { metadata, spec, status = {} } = pod;
  const { namespace, name, uid, labels = {}, annotations = {} } = metadata;
  const about = fields(0, [
    ['Name', name],
    ['Namespace', namespace],
    ['UID', uid],
    ['Priority', priorityText(spec)],
    ['Runtime Class', spec.runtimeClassName],
    ['Node', [spec.nodeName, status.hostIP].filter((text) => text !== undefined).join('/')],
    ['Node Pressure', pressures],
    ['Start Time', status.startTime && timeText(status.startTime)],
    ['Labels', pairs(labels)],
    ['Annotations', pairs(annotations)],
    ['Source', declaredBy === undefined ? source : `${source}: ${declaredBy.where}`],
    ['Version', declaredBy?.version],
    ['Manifest', problems.map((problem) => problemText(problem, now)).join('\n')],
    ['Status', podStatusText(pod, worker)],
    ['Reason', status.reason],
    ['Message', rejection?.message ?? status.message],
    ['Pulling', pulls.map((pull) => `${pull.container}: ${pull.image} ${pullText(pull)}`).join('\n')],
    ['IP', (status.podIPs ?? []).map(({ ip }) => ip).join('\n') || status.podIP],
    ['Host Network', spec.hostNetwork === true ? 'true' : undefined],
    ['QoS Class', status.qosClass],
    ['Restart Policy', spec.restartPolicy],
    ['Worker', worker?.state ?? '<no agent>'],
    ['Sync Error', worker?.lastSyncError],
    ['Update', updateText(update)],
  ]);
  const conditions = (status.conditions ?? []).map(({ type, status: value, reason, message }): [string, string] => [
    type,
    [value, reason, message].filter((text) => text !== undefined && text !== '').join('  '),
  ]);
  return [
    about,
    containersText('Init Containers', spec.initContainers ?? [], status.initContainerStatuses ?? [], now),
    containersText('Containers', spec.containers, status.containerStatuses ?? [], now),
    containersText(
      'Ephemeral Containers',
      spec.ephemeralContainers ?? [],
      status.ephemeralContainerStatuses ?? [],
      now,
    ),
    conditions.length === 0 ? '' : `Conditions:\n${fields(2, conditions)}`,
    volumesText(spec.volumes ?? []),
  ].join('');
}

/** Changes of the newest manifest that are not applied yet. Returns undefined if there are none. */
function updateText({
  waitingUpdate,
  outdatedContainers = [],
}: Pick<FoundPod['pods'][number], 'waitingUpdate' | 'outdatedContainers'>): string | undefined {
  if (waitingUpdate !== undefined) return `waiting: ${waitingUpdate.reason}: ${waitingUpdate.message}`;
  if (outdatedContainers.length === 0) return undefined;
  return `containers with an earlier image or resources: ${outdatedContainers.join(', ')}`;
}

/** Such as `2000001000 (system-node-critical)`. */
function priorityText({ priority = 0, priorityClassName = '' }: PodSpec): string {
  return priorityClassName === '' ? String(priority) : `${priority} (${priorityClassName})`;
}

function volumesText(volumes: readonly object[]): string {
  if (volumes.length === 0) return '';
  const rows = volumes.map((volume): [string, string] => {
    const { name, ...kinds } = volume as { name: string };
    const [kind, value] = Object.entries(kinds)[0] ?? ['unknown', {}];
    return [name, `${kind} ${JSON.stringify(value)}`];
  });
  return `Volumes:\n${fields(2, rows)}`;
}

function pairs(map: Readonly<Record<string, string>>): string {
  const lines = Object.entries(map).map(([key, value]) => `${key}=${value}`);
  return lines.length === 0 ? '<none>' : lines.sort().join('\n');
}
