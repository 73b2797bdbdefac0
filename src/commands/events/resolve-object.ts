import { isWorkloadKind } from '../../api/values/workload.ts';
import { objectHistory } from '../../engine/history/history-file.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { ownsRun } from '../../engine/workloads/owns-pod.ts';
import { UserError } from '../../errors.ts';
import { declaredConfigObjects } from '../objects/declared-config-objects.ts';
import { knownWorkloads } from '../objects/find-workload.ts';
import { kindAndName } from '../objects/kind-and-name.ts';
import { lastNodeName } from '../objects/last-node-name.ts';
import { type Known, notFound } from '../objects/not-found.ts';
import { recordedOwners } from '../objects/recorded-owners.ts';
import { brokenManifests } from '../objects/refused-manifest.ts';
import { recordedWorkloads } from '../workload/recorded-workloads.ts';
import type { ResolvedObject } from '../objects/object-events.ts';

/**
 * Returns the workload or Service that a word such as `job/pi` or `svc/db` means. Resolves with undefined for other
 * words, and for a workload that is unknown. Rejects with a `UserError` for a Service that is.
 */
export async function resolveObject(
  word: string,
  { namespace, rootDir }: { namespace?: string; rootDir: string },
  snapshot: EngineSnapshot | undefined,
): Promise<ResolvedObject | undefined> {
  const { kind = 'Pod', name = '' } = kindAndName(word) ?? {};
  if (!isWorkloadKind(kind) && kind !== 'Service') return undefined;
  // A namespace may have the name of a kind.
  if (snapshot?.pods.some(({ pod }) => pod.metadata.namespace === word.split('/')[0])) return undefined;
  const isHere = (one: { namespace?: string }): boolean => namespace === undefined || one.namespace === namespace;
  const history = objectHistory({ kind, namespace: '', name }).name;
  const recorded = (await recordedOwners(rootDir, snapshot)).filter((one) => one.name === history);
  const declared = kind === 'Service' ? await services(rootDir, snapshot) : await workloads(rootDir, snapshot);
  const isRun = (one: Known): boolean => kind === 'Job' && one.kind === 'CronJob' && ownsRun(one.name, name);
  const named = declared.filter((one) => (one.kind === kind && one.name === name) || isRun(one));
  if ([...recorded, ...named].some(isHere)) return { kind, name, namespace };
  if (kind !== 'Service') return undefined;
  const error = notFound({ kind, name }, declared);
  const broken = brokenManifests((snapshot?.sources ?? []).flatMap(({ problems }) => problems));
  throw broken === undefined ? error : new UserError(error.message, { hint: broken });
}

async function workloads(rootDir: string, snapshot: EngineSnapshot | undefined): Promise<Known[]> {
  if (snapshot !== undefined) return knownWorkloads(snapshot);
  return knownWorkloads({ workloads: await recordedWorkloads(rootDir, await lastNodeName(rootDir)) });
}

async function services(rootDir: string, snapshot: EngineSnapshot | undefined): Promise<Known[]> {
  const nodeName = snapshot?.nodeName ?? (await lastNodeName(rootDir));
  const objects = (await declaredConfigObjects(rootDir, nodeName)).map(({ object }) => object);
  return objects.flatMap((object) => (object.kind === 'Service' ? [object] : []));
}
