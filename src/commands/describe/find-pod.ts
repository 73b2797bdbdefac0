import { hostname } from 'node:os';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import type { HistoryEntry } from '../../engine/history/history-entry.ts';
import type { EngineSnapshot, NodePressureSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { toError, UserError } from '../../errors.ts';
import { isDenied } from '../../process/needs-root.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { hasAgentProcess } from '../pod/agent-snapshot.ts';
import { lastDeclarers } from '../objects/declared-config-objects.ts';
import type { PodFlags } from '../pod/open-pod.ts';
import { otherResourceHint } from '../objects/other-resources.ts';
import { podList } from '../pod/pod-list.ts';
import type { PodReference } from '../objects/pod-reference.ts';
import { resolvePods, podsOfOtherNodes } from '../pod/resolve-pods.ts';
import { refusedManifest, unknownPodHint } from '../objects/refused-manifest.ts';
import { pastOf, recordedPods } from '../objects/recorded-owners.ts';
import { unknownWorkload } from '../objects/unknown-workload.ts';

/** A pod as found in the agent, the runtime and the history. */
export interface FoundPod {
  namespace: string;
  name: string;
  /** Its current revisions. Several while one replaces another. Empty if it was removed. */
  pods: (Pick<PodSnapshot, 'pod'> & Partial<Omit<PodSnapshot, 'pod' | 'events'>>)[];
  /** Past events and container exits of all its revisions. */
  history: HistoryEntry[];
  /** Problems of its manifest while an earlier good revision is kept. Absent if there are none. */
  manifestProblems?: ManifestProblem[];
  /** Pressure conditions of the node. Absent if there are none. */
  pressures?: NodePressureSnapshot[];
  /** Why the runtime could not be read. Set only without an agent. */
  runtimeError?: string;
}

/** A pod from the agent's snapshot or, if no agent runs, from the runtime and the disk. Rejects like `findPods`. */
export async function findPod(
  deps: CommandDeps,
  reference: string,
  flags: PodFlags,
  snapshot: EngineSnapshot | undefined,
): Promise<FoundPod> {
  return findKnownPod(await knownPods(deps, flags, snapshot), reference, flags, snapshot);
}

/**
 * Like `findPod`, for several references. Without any, returns all current pods, and rejects if the runtime cannot be
 * read, because an empty list would mean "no pods".
 */
export async function findPods(
  deps: CommandDeps,
  references: readonly string[],
  flags: PodFlags,
  snapshot: EngineSnapshot | undefined,
): Promise<FoundPod[]> {
  const known = await knownPods(deps, flags, snapshot);
  if (references.length === 0 && known.failure !== undefined) throw known.failure;
  const own = known.pods.filter(
    ({ pod }) => flags.namespace === undefined || pod.metadata.namespace === flags.namespace,
  );
  const wanted = references.length > 0 ? references : new Set(own.map(({ pod: { metadata } }) => podKey(metadata)));
  const found: FoundPod[] = [];
  for (const reference of wanted) found.push(await findKnownPod(known, reference, flags, snapshot));
  return found;
}

async function findKnownPod(
  { pods, failure }: Awaited<ReturnType<typeof knownPods>>,
  reference: string,
  flags: PodFlags,
  snapshot: EngineSnapshot | undefined,
): Promise<FoundPod> {
  const past = await recordedPods(flags.rootDir, snapshot);
  const nodeName = snapshot?.nodeName ?? hostname().toLowerCase();
  const namesNow = pods.map(({ pod: { metadata } }) => metadata);
  const isUnseen = snapshot === undefined && failure !== undefined;
  const cause = isUnseen && !(await hasAgentProcess(flags.rootDir)) ? nothingRuns(flags.rootDir) : undefined;
  const { namespace } = flags;
  const chosen =
    choose([namesNow, past], { pod: reference, namespace }, nodeName) ??
    (await unknown([...namesNow, ...past], { pod: reference, namespace, nodeName }, { cause, snapshot }));
  const own = pods.filter(({ pod: { metadata } }) => isSame(metadata, chosen));
  const problems = await manifestProblems(snapshot, chosen, own.length > 0);
  const pressures = snapshot?.pressures ?? [];
  return {
    namespace: chosen.namespace,
    name: chosen.name,
    pods: own.map(({ events: _events, ...pod }) => pod),
    history: await pastOf(chosen, flags.rootDir, snapshot !== undefined),
    ...(problems.length === 0 ? {} : { manifestProblems: problems }),
    ...(pressures.length === 0 ? {} : { pressures }),
    ...(failure === undefined ? {} : { runtimeError: failure.message }),
  };
}

async function knownPods(
  deps: CommandDeps,
  flags: PodFlags,
  snapshot: EngineSnapshot | undefined,
): Promise<{ pods: (FoundPod['pods'][number] & { events?: unknown })[]; failure?: Error }> {
  if (snapshot !== undefined) return { pods: snapshot.pods };
  const { podsFromRuntime } = await import('../../node/pods-from-runtime.ts');
  try {
    const pods = await withRuntime(deps.connect(flags), ({ runtime }) => podsFromRuntime(runtime, flags.rootDir));
    const declarers = await lastDeclarers(flags.rootDir, hostname().toLowerCase());
    return {
      pods: pods.map((pod) => {
        const declarer = declarers.get(podKey(pod.metadata));
        return declarer === undefined
          ? { pod }
          : { pod, source: declarer.source, declaredBy: { where: declarer.where } };
      }),
    };
  } catch (error) {
    // Without permission for the runtime, an empty list would mean "no pods".
    if (isDenied(error)) throw error;
    // The history is available without the runtime.
    return { pods: [], failure: toError(error) };
  }
}

/** Problems of the file that declares the pod, if its last good revision is kept or the pod does not run at all. */
async function manifestProblems(
  snapshot: EngineSnapshot | undefined,
  pod: PodName,
  isThere: boolean,
): Promise<ManifestProblem[]> {
  if (snapshot === undefined) return [];
  if (!isThere) return refusedManifest(snapshot, { pod: pod.name, namespace: pod.namespace });
  const problems = snapshot.sources.flatMap((source) => source.problems);
  const broken = problems.filter(({ lastGoodPods = [] }) => lastGoodPods.some((known) => isSame(known, pod)));
  return problems.filter(({ origin, severity }) => severity === 'error' && broken.some((one) => one.origin === origin));
}

const nothingRuns = (rootDir: string): string =>
  `No kubelet-ts runs on ${rootDir}, and no container runtime answers. Start it: kubelet-ts run MANIFEST.`;

/** The matching pod in the first list that has one. Returns undefined if none has. */
function choose(
  lists: readonly (readonly PodName[])[],
  reference: { pod: string; namespace: string | undefined },
  nodeName: string,
): PodName | undefined {
  const found = [resolvePods<PodName>, podsOfOtherNodes<PodName>].flatMap((meant) =>
    lists.map((list) => meant(list, { ...reference, nodeName }, (pod) => pod)),
  );
  for (const pods of found) {
    const keys = [...new Set(pods.map(podKey))];
    if (keys.length > 1) {
      throw new UserError(`several pods match "${reference.pod}": ${keys.sort().join(', ')}`, {
        hint: 'Name one as namespace/name.',
      });
    }
    if (pods[0] !== undefined) return pods[0];
  }
  return undefined;
}

/** Rejects with a `UserError` if the reference matches no pod. `cause` is the hint if there are no pods at all. */
async function unknown(
  pods: readonly PodName[],
  reference: PodReference,
  { cause, snapshot }: { cause: string | undefined; snapshot: EngineSnapshot | undefined },
): Promise<never> {
  const { nodeName } = reference;
  const workload = await unknownWorkload(reference.pod, reference.namespace, snapshot);
  if (workload !== undefined) throw workload;
  // A pod may be named without the node. The hint shows its whole name.
  const written = new Map(
    pods.flatMap((pod) => {
      const short = pod.name.endsWith(`-${nodeName}`) ? pod.name.slice(0, -nodeName.length - 1) : pod.name;
      return [short, pod.name, podKey(pod)].map((text) => [text, text === short ? pod.name : text] as const);
    }),
  );
  const near = nearestName(reference.pod, written.keys());
  const all = pods.map(podKey);
  const hint =
    (near === undefined ? otherResourceHint(reference.pod) : undefined) ??
    (await unknownPodHint(reference, snapshot, near === undefined ? undefined : (written.get(near) ?? near))) ??
    (all.length === 0 ? cause : undefined) ??
    podList(all);
  throw new UserError(`no pod "${reference.pod}"`, { hint });
}

const isSame = (a: PodName, b: PodName): boolean => a.namespace === b.namespace && a.name === b.name;
