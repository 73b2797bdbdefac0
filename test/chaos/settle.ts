import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import type { EngineSnapshot, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, isReady, nodeName } from '../e2e/agent.ts';
import { findLeftovers } from '../e2e/leftovers.ts';
import { processesOf } from '../e2e/processes.ts';
import { untilExited } from '../e2e/until-exited.ts';
import { untilGone } from '../e2e/until-gone.ts';
import { type ChaosPod, revisionAnnotation } from './chaos-pod.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { listRuntime, type RuntimeListing, untilRuntimeAnswers } from './list-runtime.ts';

/** What the node is when it is as its manifests say. */
export interface SettledNode {
  /** Monotonic milliseconds: when the engine said so. */
  readonly at: number;
  readonly pods: readonly PodSnapshot[];
  readonly listing: RuntimeListing;
}

/**
 * Resolves when the node is as its manifests say; throws when runtime, disk or kernel say otherwise than the engine
 * then.
 */
export async function settle({ agent, desired, crashed, removedDead, stopped }: ChaosWorld): Promise<SettledNode> {
  const { pods } = await agent.until((snapshot) => isAsDeclared(snapshot, { desired, crashed, stopped }));
  const at = performance.now();
  const uids = new Set(pods.map(({ pod }) => pod.metadata.uid));
  // The folder of a pod goes last of all.
  const podDirs = new PodDirs(agent);
  await allGone((await podDirs.podUIDs()).filter((uid) => !uids.has(uid)).map((uid) => podDirs.podDir(uid)));
  await untilRuntimeAnswers(agent);
  const listing = await listRuntime(agent);
  assertSame(`the runtime of revisions ${revisionsOf(desired)}`, runningIn(listing), declaredBy(desired, stopped));
  const known = new Set([...uids, ...[...listing.sandboxes, ...listing.containers].map(({ id }) => id)]);
  const isStray = (place: string): boolean => idsIn(place).some((id) => !known.has(id));
  await strayShimsExit(agent, isStray);
  const { logLinks, ...left } = await findLeftovers(agent);
  const linked = new Set(logLinks.flatMap(idsIn));
  const running = listing.containers.filter(({ isRunning }) => isRunning);
  assertSame(
    'containers without a link to their log',
    running.filter(({ id }) => !linked.has(id)).map(({ name }) => name),
    [],
  );
  // A dead container that is one too many goes whenever it can, its link after it. A link of one that the runtime lost
  // stays as long as its log, as with the kubelet.
  const isKept = (link: string): boolean => idsIn(link).some((id) => removedDead.has(id)) && existsSync(link);
  await allGone(logLinks.filter((link) => isStray(link) && !isKept(link)));
  const strays = Object.values(left).flat().filter(isStray);
  const ofPods = await Promise.all(strays.map((place) => isEmptyCgroupOf(place, uids)));
  assertSame(
    'what nobody needs',
    strays.filter((_place, index) => ofPods[index] === false),
    [],
  );
  return { at, pods, listing };
}

/** A shim whose start was cut off exits some seconds after its sandbox is removed. */
async function strayShimsExit({ rootDir }: Agent, isStray: (place: string) => boolean): Promise<void> {
  const strays = (await processesOf(rootDir)).filter(({ commandLine }) => isStray(commandLine));
  await Promise.all(strays.map(({ pid }) => untilExited(pid)));
}

/** A containerd that is killed while it makes a sandbox may leave such a cgroup, which goes with its pod. */
async function isEmptyCgroupOf(place: string, podUIDs: ReadonlySet<string>): Promise<boolean> {
  const isOfPod = [...podUIDs].some((uid) => dirname(place).endsWith(`/pod${uid}`));
  return isOfPod && (await readFile(join(place, 'cgroup.procs'), 'utf8').catch(() => '')) === '';
}

function isAsDeclared(
  { pods }: EngineSnapshot,
  { desired, crashed, stopped }: Pick<ChaosWorld, 'desired' | 'crashed' | 'stopped'>,
): boolean {
  return (
    pods.length === desired.size &&
    [...desired.values()].every((wanted) =>
      pods.some(
        (candidate) =>
          candidate.pod.metadata.name === `${wanted.name}-${nodeName}` &&
          candidate.pod.metadata.annotations?.[revisionAnnotation] === String(wanted.revision) &&
          isInItsState(candidate, wanted, stopped) &&
          !currentIDs(candidate).some((id) => crashed.has(id)),
      ),
    )
  );
}

function isInItsState(candidate: PodSnapshot, { name, ends }: ChaosPod, stopped: ReadonlySet<string>): boolean {
  const { pod, worker } = candidate;
  if (stopped.has(name)) return pod.status?.reason === 'Stopped' && worker.state !== 'terminating';
  return ends ? worker.state === 'finished' : isReady(candidate);
}

/** Ids of the containers that the status of a pod tells of. */
function currentIDs({ pod: { status } }: PodSnapshot): string[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.map(({ containerID = '' }) => containerID.replace(/^.*:\/\//, ''));
}

function runningIn({ sandboxes, containers }: RuntimeListing): string[] {
  return [
    ...sandboxes.filter(({ isReady }) => isReady).map(({ podName, revision }) => `${podName} ${revision}`),
    ...containers
      .filter(({ isRunning }) => isRunning)
      .map(({ podName, revision, name }) => `${podName} ${revision} ${name}`),
  ].sort();
}

function declaredBy(desired: ReadonlyMap<string, ChaosPod>, stopped: ReadonlySet<string>): string[] {
  return [...desired.values()]
    .filter(({ ends, name }) => !ends && !stopped.has(name))
    .flatMap(({ name, revision, containers }) => [
      `${name} ${revision}`,
      ...containers.map((container) => `${name} ${revision} ${container}`),
    ])
    .sort();
}

const revisionsOf = (desired: ReadonlyMap<string, ChaosPod>): string =>
  [...desired.values()].map(({ revision }) => revision).join(', ');

/** UIDs of pods and ids of sandboxes and containers in a path or a command line. */
function idsIn(place: string): string[] {
  return place.match(/(?<![\da-f])([\da-f]{32}|[\da-f]{64})(?![\da-f])/g) ?? [];
}

async function allGone(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map(untilGone));
}

/** As the matcher of a test would, for use in longer runs too. */
function assertSame(what: string, is: readonly string[], shouldBe: readonly string[]): void {
  const extra = is.filter((one) => !shouldBe.includes(one));
  const missing = shouldBe.filter((one) => !is.includes(one));
  const twice = is.filter((one, index) => is.indexOf(one) !== index);
  if (extra.length + missing.length + twice.length === 0) return;
  throw new Error(`${what}: ${JSON.stringify({ extra, missing, twice }, undefined, 1)}`);
}
