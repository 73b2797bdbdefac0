import { podKey, type PodName } from '../../api/values/pod-names.ts';
import { isReplicatedKind, isWorkloadKind } from '../../api/values/workload.ts';
import { isObjectHistory } from '../../engine/history/history-file.ts';
import type { ObjectRef } from '../../engine/view/events.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { ownsPod, ownsRun } from '../../engine/workloads/owns-pod.ts';
import { declaredWorkloads } from './declared-config-objects.ts';
import { lastNodeName } from './last-node-name.ts';
import { pastOf, recordedOwners } from './recorded-owners.ts';
import { type ListedEvent, listedEvents, shownName } from './listed-event.ts';

/** A workload or Service by its name. */
export interface ResolvedObject {
  kind: ObjectRef['kind'];
  name: string;
  /** Absent for all namespaces. */
  namespace?: string | undefined;
}

interface Node {
  rootDir: string;
  /** Undefined without an agent. */
  snapshot: EngineSnapshot | undefined;
}

/** True for an event of the object. */
export type IsOfObject = (event: Pick<ListedEvent, 'namespace' | 'name'>) => boolean;

/**
 * Lists the events of a workload or a Service, oldest first, even from before the agent started. They include the
 * events of its pods, even of removed pods, and of the runs of a CronJob.
 */
export async function objectEvents(
  object: ResolvedObject,
  node: Node,
): Promise<{ events: ListedEvent[]; isOfObject: IsOfObject }> {
  const { rootDir, snapshot } = node;
  const isOfObject = await isOfResolved(object, node);
  const owners = (await recordedOwners(rootDir, snapshot)).filter(
    (owner) =>
      isOfObject({ ...owner, name: shownName(owner) }) || (object.kind === 'Job' && mayRun(owner, object.name)),
  );
  const events = (await eventsOf(owners, node)).filter(isOfObject);
  return { events, isOfObject };
}

/** The events of these pods and objects, oldest first. */
export async function eventsOf(owners: readonly PodName[], { rootDir, snapshot }: Node): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  for (const owner of owners) events.push(...listedEvents(owner, await pastOf(owner, rootDir, snapshot !== undefined)));
  return events.sort((a, b) => a.lastAt - b.lastAt);
}

/** True for the history of a CronJob that may have run a Job of this name. */
function mayRun(owner: PodName, job: string): boolean {
  const [kind, ...cronJob] = owner.name.split('.');
  return isObjectHistory(owner) && kind === 'CronJob' && ownsRun(cronJob.join('.'), job);
}

async function isOfResolved({ kind, name, namespace }: ResolvedObject, node: Node): Promise<IsOfObject> {
  const isOfPod = isWorkloadKind(kind) ? await podsOf({ kind, name }, node) : () => false;
  return (event) => {
    if (event.namespace === undefined || (namespace !== undefined && event.namespace !== namespace)) return false;
    if (event.name === `${kind.toLowerCase()}/${name}`) return true;
    if (event.name.includes('/')) return kind === 'CronJob' && ownsRun(name, event.name.replace(/^job\//, ''));
    return isOfPod({ namespace: event.namespace, name: event.name });
  };
}

/** Tells the pods of a workload, also those that are removed: by its manifest, and by what the agent reports. */
async function podsOf(
  { kind, name }: Pick<ResolvedObject, 'kind' | 'name'>,
  { rootDir, snapshot }: Node,
): Promise<(pod: PodName) => boolean> {
  const nodeName = snapshot?.nodeName ?? (await lastNodeName(rootDir));
  // The state of the agent is known, even if this user may not read its manifests.
  const all = (await declaredWorkloads(rootDir, nodeName).catch(() => [])).map(({ workload }) => workload);
  const declared = all.filter((one) => one.kind === kind && one.name === name);
  const reported = (snapshot?.workloads ?? []).filter((one) => one.kind === kind && one.name === name);
  const known = new Set(
    reported.flatMap((one) => one.pods.map((pod) => podKey({ namespace: one.namespace, name: pod }))),
  );
  const cronJobs = isReplicatedKind(kind) ? [] : all.filter((one) => one.kind === 'CronJob' && ownsRun(one.name, name));
  return (pod) =>
    known.has(podKey(pod)) ||
    declared.some((workload) => ownsPod(workload, pod)) ||
    cronJobs.some((cron) => ownsPod(cron, pod) && pod.name.startsWith(`${name}-`));
}
