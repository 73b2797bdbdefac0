import { hostname } from 'node:os';
import { workloadKey, type WorkloadName } from '../../api/values/workload.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { errorMessage } from '../../errors.ts';
import { readAllocations } from '../../engine/services/service-records.ts';
import type { Allocation } from '../../engine/services/allocation.ts';
import { nodeNameOf } from '../../node/options/node-options.ts';
import type { ResolvedObjects } from '../get-objects.ts';
import { declaredConfigObjects, declaredWorkloads, namespaceOf } from '../objects/declared-config-objects.ts';
import { lastNodeName } from '../objects/last-node-name.ts';
import { type OwnerOfPods, podsOfRun, podsOfWorkload } from '../objects/find-workload.ts';
import type { ListedEvent } from '../objects/listed-event.ts';
import { objectEvents } from '../objects/object-events.ts';
import { withAllocation } from '../service-columns.ts';
import { jobsOf, type ShownJob } from '../workload/job-tables.ts';
import { recordedWorkloads } from '../workload/recorded-workloads.ts';
import { serviceText } from './service-text.ts';
import { objectEventsText } from './history-text.ts';
import { type Declaration, jobText, workloadText } from './workload-text.ts';

interface Flags {
  rootDir: string;
  namespace?: string;
}

/**
 * Describes the workloads that the agent has, or, without one, those that the manifests on disk declare. Empty if no
 * workload matches.
 */
export async function describeWorkloads(
  { workloads: kinds, names }: Pick<ResolvedObjects, 'workloads' | 'names'>,
  snapshot: EngineSnapshot | undefined,
  { rootDir, namespace }: Flags,
  now: number,
): Promise<string[]> {
  const isNamed = (one: { namespace: string; name: string }): boolean =>
    (names.length === 0 || names.includes(one.name)) && (namespace === undefined || one.namespace === namespace);
  const nodeName = snapshot?.nodeName ?? (await lastNodeName(rootDir));
  const all = snapshot ? (snapshot.workloads ?? []) : await recordedWorkloads(rootDir, nodeName);
  const found = all.filter((one) => one.kind !== 'Job' && kinds.includes(one.kind) && isNamed(one));
  const jobs = kinds.includes('Job') ? jobsOf(all, snapshot !== undefined).filter(isNamed) : [];
  if (found.length + jobs.length === 0) return [];
  const declarationOf = await declarations(rootDir, nodeName);
  return Promise.all([
    ...found.map(async (one) => {
      const declared = declarationOf(one);
      const pods = snapshot && podsOfWorkload(snapshot, one);
      const events = await newestEvents(one, { rootDir, snapshot });
      return workloadText(one, { declared, pods, events }, now);
    }),
    ...jobs.map(async (job) => {
      const owner = all.find((one) => workloadKey(one) === workloadKey(job.owner));
      const declared = declarationOf(job.owner);
      const pods = snapshot && owner && podsOfJob(snapshot, owner, job);
      const events = await newestEvents({ ...job, kind: 'Job' }, { rootDir, snapshot });
      return jobText(job, { declared, pods, events }, now);
    }),
  ]);
}

/** More are rarely read, and a workload may have hundreds of pods. */
const maxEvents = 50;

async function newestEvents(...args: Parameters<typeof objectEvents>): Promise<ListedEvent[]> {
  return (await objectEvents(...args)).events.slice(-maxEvents);
}

/** Returns the manifest of each workload, or the reason why it cannot be shown. */
async function declarations(rootDir: string, nodeName: string): Promise<(name: WorkloadName) => Declaration> {
  try {
    const declared = await declaredWorkloads(rootDir, nodeName);
    return (name) =>
      declared.find(({ workload }) => workloadKey(workload) === workloadKey(name)) ?? {
        unreadBecause: `no manifest that is saved in ${rootDir} declares it`,
      };
  } catch (error) {
    const unreadBecause = errorMessage(error);
    return () => ({ unreadBecause });
  }
}

/** Describes the declared Services. Empty if none has a name of these. */
export async function describeServices(
  { names }: Pick<ResolvedObjects, 'names'>,
  snapshot: EngineSnapshot | undefined,
  { rootDir, namespace }: Flags,
  now: number,
): Promise<string[]> {
  const declared = await declaredConfigObjects(rootDir, snapshot?.nodeName ?? nodeNameOf(hostname()));
  const allocations = (await readAllocations(rootDir)) ?? new Map<string, Allocation>();
  const pods = snapshot?.pods.filter(({ replacedBy }) => replacedBy === undefined).map(({ pod }) => pod);
  const addresses = declared.flatMap(({ object }) =>
    object.kind === 'Endpoints' || object.kind === 'EndpointSlice' ? object : [],
  );
  const texts = declared.flatMap(({ object, where }) => {
    if (object.kind !== 'Service') return [];
    const isNamed = names.length === 0 || names.includes(object.name);
    if (!isNamed || (namespace !== undefined && namespaceOf(object) !== namespace)) return [];
    const text = serviceText(withAllocation(object, allocations), where, { pods, addresses });
    const events = newestEvents(object, { rootDir, snapshot });
    return [events.then((listed) => objectEventsText(listed, now)).then((eventsText) => text + eventsText)];
  });
  return Promise.all(texts);
}

const podsOfJob = (snapshot: EngineSnapshot, owner: OwnerOfPods, job: ShownJob): PodSnapshot[] =>
  job.owner.kind === 'Job' ? podsOfWorkload(snapshot, owner) : podsOfRun(snapshot, owner, job.name);
