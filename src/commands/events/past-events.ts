import type { PodName } from '../../api/values/pod-names.ts';
import type { HistoryEntry } from '../../engine/history/history-entry.ts';
import { findPod } from '../describe/find-pod.ts';
import type { CommandDeps } from '../io/deps.ts';
import { agentSnapshot } from '../pod/agent-snapshot.ts';
import type { PodFlags } from '../pod/open-pod.ts';
import { problemEvents } from '../pod/problem-events.ts';
import { serviceName } from '../pod/service-name.ts';
import { pastOf, recordedPods } from '../pod/recorded-pods.ts';

/** An event with its object. One entry counts all repeats. Times are in milliseconds since the epoch. */
export interface ListedEvent {
  /** Absent for an event of the node. */
  namespace?: string;
  /** Name of the pod or node, or such as `service/web`. */
  name: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  container?: string;
  count: number;
  firstAt: number;
  lastAt: number;
}

/**
 * The recorded events of a pod, or of all pods, oldest first, with the current problems of Services. With the whole
 * name of the pod or Service if `reference` names one.
 */
export async function pastEvents(
  deps: CommandDeps,
  reference: string | undefined,
  flags: PodFlags,
): Promise<{ events: ListedEvent[]; pod?: PodName }> {
  const snapshot = await agentSnapshot(flags.rootDir, deps.stderr);
  const service = serviceName(reference ?? '');
  if (service !== undefined) {
    const { namespace = 'default' } = flags;
    const name = `service/${service}`;
    const events = problemEvents(snapshot).filter((event) => event.namespace === namespace && event.name === name);
    return { events, pod: { namespace, name } };
  }
  if (reference !== undefined) {
    const { namespace, name, history } = await findPod(deps, reference, flags, snapshot);
    return { events: inOrder(listed({ namespace, name }, history)), pod: { namespace, name } };
  }
  const events: ListedEvent[] = problemEvents(snapshot).filter(
    ({ namespace }) => flags.namespace === undefined || namespace === flags.namespace,
  );
  for (const pod of await recordedPods(flags.rootDir, snapshot)) {
    if (flags.namespace !== undefined && pod.namespace !== flags.namespace) continue;
    events.push(...listed(pod, await pastOf(pod, flags.rootDir, snapshot !== undefined)));
  }
  return { events: inOrder(events) };
}

function listed({ namespace, name }: PodName, history: readonly HistoryEntry[]): ListedEvent[] {
  return history.flatMap((entry) => {
    if (entry.kind !== 'event') return [];
    const { eventType: type, reason, message, containerName, count, firstAt, lastAt } = entry;
    const container = containerName === undefined ? {} : { container: containerName };
    return [{ namespace, name, type, reason, message, ...container, count, firstAt, lastAt }];
  });
}

const inOrder = (events: ListedEvent[]): ListedEvent[] => events.sort((a, b) => a.lastAt - b.lastAt);
