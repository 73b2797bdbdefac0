import { criLabels } from '../../engine/container/labels.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import type { Pod } from '../../api/types.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { newestFirst } from '../../cri/newest-first.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { Container, PodSandbox } from '../../cri/types.ts';
import type { SourceSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import type { PodReference } from '../objects/pod-reference.ts';
import { resolvePods, podsOfOtherNodes } from './resolve-pods.ts';
import { podList } from './pod-list.ts';
import { brokenManifests } from '../objects/refused-manifest.ts';
import { type KnownPod, whyNotStarted } from './why-not-started.ts';

/** A pod in the runtime, with more data from the agent if one runs. */
export interface SelectedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The sandbox in use, or the newest one. */
  readonly sandbox: PodSandbox;
  /** Init containers first, in the manifest's order. Without an agent in the order of creation. */
  readonly containers: readonly PodContainer[];
  /** True if an agent reported the containers of the manifest. */
  readonly isDeclared: boolean;
}

export interface PodContainer {
  readonly name: string;
  /** Always false without an agent, because the runtime does not distinguish init containers. */
  readonly isInit: boolean;
  /** Like `isInit`, for ephemeral containers. */
  readonly isEphemeral: boolean;
  /** Newest first. Empty if the container was not created yet. */
  readonly attempts: readonly Container[];
}

/**
 * Finds a pod and its containers in the runtime's listing. Rejects with a `UserError` if none or several match, which
 * has the reason if an agent (`known`) reports the pod.
 */
export async function selectPod(
  runtime: RuntimeService,
  reference: PodReference,
  known?: KnownNode,
): Promise<SelectedPod> {
  const { items } = await runtime.listPodSandbox();
  return podOfSandbox(runtime, findSandbox(items, reference, known), known);
}

/**
 * All pods in the runtime's listing with labels that `isSelected` accepts, sorted by namespace and name. The labels are
 * those of the manifest if an agent knows the pod.
 */
export async function labelledPods(
  runtime: RuntimeService,
  { isSelected, namespace }: { isSelected: (labels: Record<string, string>) => boolean; namespace: string | undefined },
  known?: KnownNode,
): Promise<SelectedPod[]> {
  const { items } = await runtime.listPodSandbox();
  const declared = new Map((known?.pods ?? []).map(({ pod: { metadata } }) => [metadata.uid, metadata.labels ?? {}]));
  const found = items.filter(
    ({ metadata, labels }) =>
      (namespace === undefined || metadata?.namespace === namespace) &&
      isSelected(declared.get(metadata?.uid ?? '') ?? labels),
  );
  // The map keeps the last sandbox of each name: the one in use.
  const inUse = new Map(
    found
      .sort(byUse)
      .reverse()
      .map((sandbox) => [fullName(sandbox), sandbox]),
  );
  const pods: SelectedPod[] = [];
  for (const [, sandbox] of [...inUse].sort(([a], [b]) => (a < b ? -1 : 1))) {
    pods.push(await podOfSandbox(runtime, sandbox, known));
  }
  return pods;
}

async function podOfSandbox(
  runtime: RuntimeService,
  sandbox: PodSandbox,
  known: KnownNode | undefined,
): Promise<SelectedPod> {
  const declaredPods = (known?.pods ?? []).map(({ pod }) => pod);
  const { uid = '', name = '', namespace = '' } = sandbox.metadata ?? {};
  const { containers } = await runtime.listContainers({ filter: { labelSelector: { [criLabels.podUID]: uid } } });
  const declared = declaredPods.find(({ metadata }) => metadata.uid === uid);
  return {
    namespace,
    name,
    uid,
    sandbox,
    containers: containersByName(containers, declared),
    isDeclared: declared !== undefined,
  };
}

/**
 * The matching pod's sandbox: a ready one first, then the newest. Pods of the agent take precedence over pods of other
 * node names that remain in the runtime.
 */
export function findSandbox(sandboxes: readonly PodSandbox[], reference: PodReference, known?: KnownNode): PodSandbox {
  const candidates: Candidate[] = [
    ...sandboxes.map((sandbox) => ({ metadata: sandbox.metadata, sandbox })),
    ...(known?.pods ?? []).map((declared) => ({ metadata: declared.pod.metadata, declared })),
  ];
  const found = resolveCandidates(candidates, reference);
  const fullNames = [...new Set(found.map(fullName))];
  if (fullNames.length > 1) {
    throw new UserError(`several pods match "${reference.pod}": ${fullNames.sort().join(', ')}`, {
      hint: 'Name one as namespace/name.',
    });
  }
  const [newest] = found.flatMap(({ sandbox }) => sandbox ?? []).sort(byUse);
  if (newest !== undefined) return newest;
  const [declared] = found.flatMap((candidate) => candidate.declared ?? []);
  if (declared !== undefined) throw notStarted(declared);
  const others = candidates.filter(
    ({ metadata }) => reference.namespace === undefined || metadata?.namespace === reference.namespace,
  );
  throw unknownPod(reference, others.map(fullName), known);
}

/** A pod that a name could match, as the runtime or the agent reports it. */
interface Candidate {
  metadata: { name: string; namespace: string } | undefined;
  sandbox?: PodSandbox;
  declared?: KnownPod;
}

function resolveCandidates(candidates: readonly Candidate[], reference: PodReference): Candidate[] {
  const found = resolvePods(candidates, reference, ({ metadata }) => metadata);
  if (found.length > 0) return found;
  const declared = new Set(candidates.filter((one) => one.declared !== undefined).map(fullName));
  const left = candidates.filter((candidate) => !declared.has(fullName(candidate)));
  return podsOfOtherNodes(left, reference, ({ metadata }) => metadata);
}

/** Orders the sandboxes of a pod: a ready one first, then the newest. */
const byUse = (a: PodSandbox, b: PodSandbox): number =>
  Number(isReady(b)) - Number(isReady(a)) || Number(b.createdAt - a.createdAt) || (a.id < b.id ? 1 : -1);

/** An agent's data about its node. Undefined without an agent. */
export interface KnownNode {
  readonly pods: readonly KnownPod[];
  readonly sources: readonly Pick<SourceSnapshot, 'problems'>[];
}

function notStarted(declared: KnownPod): UserError {
  const { namespace, name } = declared.pod.metadata;
  return new UserError(`pod ${namespace}/${name} has not started: ${whyNotStarted(declared)}`, {
    hint: `Show its events: kubelet-ts describe ${namespace}/${name}`,
  });
}

/**
 * The container for a command without `-c`, and a message for stderr, safe for a terminal. kubectl: podcmd
 * FindOrDefaultContainerByName
 */
export function defaultContainer(pod: SelectedPod): { container: PodContainer; note: string } {
  const { containers } = pod;
  const annotated = pod.sandbox.annotations['kubectl.kubernetes.io/default-container'] ?? '';
  const preferred = containers.find(({ name }) => name === annotated);
  if (preferred !== undefined) return { container: preferred, note: '' };
  const regular = containers.filter(({ isInit, isEphemeral }) => !isInit && !isEphemeral);
  // Without the manifest, init containers are included. Completed ones do not run.
  const container = pod.isDeclared ? regular[0] : (regular.find(isRunning) ?? regular[0]);
  if (container === undefined) throw new UserError(`pod ${podKey(pod)} has no container yet`);
  const absent = visible(`Default container name "${annotated}" not found in pod ${pod.name}`);
  const missing = annotated === '' ? '' : `${absent}\n`;
  if (containers.length === 1) return { container, note: missing };
  const names = [
    ...regular,
    ...containers.filter(({ isInit }) => isInit).map(({ name }) => ({ name: `${name} (init)` })),
    ...containers.filter(({ isEphemeral }) => isEphemeral).map(({ name }) => ({ name: `${name} (ephem)` })),
  ];
  const list = names.map(({ name }) => name).join(', ');
  return { container, note: `${missing}${visible(`Defaulted container "${container.name}" out of: ${list}`)}\n` };
}

/** The container of that name. Throws a `UserError` that lists the others if there is none. */
export function namedContainer(pod: SelectedPod, name: string): PodContainer {
  const container = pod.containers.find((candidate) => candidate.name === name);
  if (container !== undefined) return container;
  const names = pod.containers.map((candidate) => candidate.name);
  throw new UserError(`container "${name}" not found in pod ${podKey(pod)}`, {
    hint: names.length === 0 ? 'The pod has no container yet.' : `Its containers are: ${names.join(', ')}.`,
  });
}

export function isRunning(container: PodContainer): boolean {
  return container.attempts[0]?.state === 'CONTAINER_RUNNING';
}

/** True if any instance of it was started. */
export function hasBegun({ attempts }: PodContainer): boolean {
  return attempts.some(({ state }) => state !== 'CONTAINER_CREATED');
}

/** No pod has this name. */
export class UnknownPodError extends UserError {}

function unknownPod(
  { pod, namespace, nodeName }: PodReference,
  fullNames: readonly string[],
  known: KnownNode | undefined,
): UserError {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const distinct = [...new Set(fullNames)].sort();
  const names = new Map(
    distinct.flatMap((full) => {
      const name = full.slice(full.indexOf('/') + 1);
      const shortName = name.endsWith(`-${nodeName}`) ? name.slice(0, -nodeName.length - 1) : name;
      return [full, name, shortName].map((written) => [written, full] as const);
    }),
  );
  const near = nearestName(pod, names.keys());
  const list = podList(distinct);
  const unseen =
    known === undefined
      ? 'No agent answers, so pods that have not started are unknown.'
      : brokenManifests(known.sources.flatMap(({ problems }) => problems));
  const all = unseen === undefined ? list : `${list} ${unseen}`;
  return new UnknownPodError(`no pod "${pod}"${where}`, {
    hint: near === undefined ? all : `Did you mean ${names.get(near) ?? near}?`,
  });
}

function containersByName(containers: readonly Container[], declared: Pod | undefined): PodContainer[] {
  const initNames = (declared?.spec.initContainers ?? []).map(({ name }) => name);
  const ephemeralNames = (declared?.spec.ephemeralContainers ?? []).map(({ name }) => name);
  const attemptsOf = new Map<string, Container[]>();
  const regularNames = (declared?.spec.containers ?? []).map((container) => container.name);
  for (const name of [...initNames, ...regularNames, ...ephemeralNames]) attemptsOf.set(name, []);
  for (const container of [...containers].sort((a, b) => Number(a.createdAt - b.createdAt))) {
    const name = container.labels[criLabels.containerName] ?? '';
    attemptsOf.set(name, [...(attemptsOf.get(name) ?? []), container]);
  }
  return [...attemptsOf].map(([name, attempts]) => ({
    name,
    isInit: initNames.includes(name),
    isEphemeral: ephemeralNames.includes(name),
    attempts: attempts.sort(newestFirst),
  }));
}

function fullName({ metadata }: Pick<Candidate, 'metadata'>): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

function isReady({ state }: PodSandbox): boolean {
  return state === 'SANDBOX_READY';
}
