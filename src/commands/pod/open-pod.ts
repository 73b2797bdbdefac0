import { hostname } from 'node:os';
import type { Pod } from '../../api/types.ts';
import type { Service } from '../../api/values/service.ts';
import { pendingInit } from '../../api/values/pending-init.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import { AgentSilentError } from '../../server/control/agent-errors.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { agentSnapshot } from './agent-snapshot.ts';
import type { CommandDeps } from '../io/deps.ts';
import { isSelected } from '../../engine/services/service-pod.ts';
import { podsOfWorkload, workloadAt } from '../objects/find-workload.ts';
import { notFound } from '../objects/not-found.ts';
import { refusedHint } from '../objects/refused-manifest.ts';
import { unknownWorkload } from '../objects/unknown-workload.ts';
import {
  hasBegun,
  labelledPods,
  type PodContainer,
  type SelectedPod,
  selectPod,
  UnknownPodError,
} from './select-pod.ts';
import { whyNotStarted } from './why-not-started.ts';
import type { Writable } from 'node:stream';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { parseRfc3339Ms } from '../../api/values/time.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { declaredConfigObjects } from '../objects/declared-config-objects.ts';

/** Flags of every command that works on one pod. */
export interface PodFlags {
  namespace?: string;
  rootDir: string;
  containerRuntimeEndpoint?: string;
}

export interface OpenPod {
  runtime: RuntimeService;
  pod: SelectedPod;
  /** The Service that the arg names. Undefined if it names the pod. */
  service?: Service | undefined;
  /**
   * The pod's current manifest in the agent. Resolves with undefined if no agent answers or the agent does not have the
   * pod.
   */
  declaredPod: () => Promise<Pod | undefined>;
  /** Why this container does not run, as reported by the agent. Returns undefined without an agent. */
  notStartedBecause: (containerName: string) => string | undefined;
  /** The started init container that this container waits for. Returns undefined without an agent. */
  awaitedInit: (containerName: string) => PodContainer | undefined;
}

/** Finds a pod over the CRI, with or without an agent, and passes it to `use`. Then closes the connection. */
export async function withPod<T>(
  deps: CommandDeps,
  podName: string,
  flags: PodFlags,
  use: (opened: OpenPod) => Promise<T>,
): Promise<T> {
  return withRuntime(deps.connect(flags), async ({ runtime }) => {
    const snapshot = await agentSnapshot(flags.rootDir, deps.stderr);
    const nodeName = snapshot?.nodeName ?? hostname().toLowerCase();
    const { reference, service } = await resolvePod(deps, podName, flags, nodeName, snapshot);
    const wanted = { pod: reference, namespace: flags.namespace, nodeName };
    const pod = await selectPod(runtime, wanted, snapshot).catch(async (error: unknown) => {
      if (!(error instanceof UnknownPodError)) throw error;
      const workload = await unknownWorkload(podName, flags.namespace, snapshot);
      if (workload !== undefined) throw workload;
      const hint = snapshot && (await refusedHint(snapshot, wanted));
      throw hint === undefined ? error : new UserError(error.message, { hint });
    });
    return use({ ...openPod(runtime, pod, snapshot, flags), service });
  });
}

/** The pod that an arg names: the pod itself, or one of a Service (`svc/web`) or a workload (`deploy/web`). */
async function resolvePod(
  { stderr }: CommandDeps,
  word: string,
  { rootDir, namespace }: PodFlags,
  nodeName: string,
  snapshot: EngineSnapshot | undefined,
): Promise<{ reference: string; service?: Service }> {
  const name = serviceNamed(word);
  if (name === undefined) {
    const workload = snapshot && workloadAt(snapshot, word, namespace);
    const pods = snapshot && workload ? podsOfWorkload(snapshot, workload).map(podOf) : [];
    return { reference: pods.length === 0 ? word : chosenPod(pods, stderr) };
  }
  if (snapshot === undefined) throw noAgent(rootDir, { consequence: 'so the pods of a Service are unknown' });
  const pods = snapshot.pods.filter(({ replacedBy }) => replacedBy === undefined).map(podOf);
  return podOfService({ name, namespace }, { rootDir, nodeName, pods }, stderr);
}

/** Like `withPod`, for all pods whose labels `isSelected` accepts, sorted by namespace and name. */
export async function withLabelledPods<T>(
  deps: CommandDeps,
  isSelected: (labels: Record<string, string>) => boolean,
  flags: PodFlags,
  use: (opened: OpenPod[]) => Promise<T>,
): Promise<T> {
  return withRuntime(deps.connect(flags), async ({ runtime }) => {
    const snapshot = await agentSnapshot(flags.rootDir, deps.stderr);
    const pods = await labelledPods(runtime, { isSelected, namespace: flags.namespace }, snapshot);
    return use(pods.map((pod) => openPod(runtime, pod, snapshot, flags)));
  });
}

function openPod(
  runtime: RuntimeService,
  pod: SelectedPod,
  snapshot: EngineSnapshot | undefined,
  { rootDir }: PodFlags,
): OpenPod {
  const own = snapshot?.pods.find(({ pod: { metadata } }) => metadata.uid === pod.uid);
  const notStartedBecause = (containerName: string): string | undefined => own && whyNotStarted(own, containerName);
  const awaitedInit = (containerName: string): PodContainer | undefined => {
    const name = own && pendingInit(own.pod)?.container.name;
    return name === containerName ? undefined : pod.containers.find((one) => one.name === name && hasBegun(one));
  };
  let known = snapshot;
  const declaredPod = async (): Promise<Pod | undefined> => {
    known = await fetchSnapshot(controlSocketPath(rootDir)).catch((error: unknown) => {
      // A stuck agent may continue later with its last plan for the pod.
      if (error instanceof AgentSilentError) return known;
      throw error;
    });
    return known?.pods.map(podOf).find(({ metadata }) => metadata.uid === pod.uid);
  };
  return { runtime, pod, declaredPod, notStartedBecause, awaitedInit };
}

const podOf = ({ pod }: PodSnapshot): Pod => pod;

/** The name in `svc/web` or `service/web`. Returns undefined for other words. */
export function serviceNamed(word: string): string | undefined {
  return /^(?:svc|services?)\/([^/]+)$/i.exec(word)?.[1];
}

/**
 * A Service, and the full name of a pod that it selects, a Ready one first. Names it on `stderr` if there are several.
 * Rejects with a `UserError` if there is no such Service, or if it selects no pod.
 */
export async function podOfService(
  service: { name: string; namespace: string | undefined },
  node: { rootDir: string; nodeName: string; pods: readonly Pod[] },
  stderr: Writable,
): Promise<{ reference: string; service: Service }> {
  const { name, namespace } = service;
  const declared = (await declaredConfigObjects(node.rootDir, node.nodeName)).flatMap(({ object }) =>
    object.kind === 'Service' ? [object] : [],
  );
  const [found] = declared.filter((one) => one.name === name && (namespace ?? one.namespace) === one.namespace);
  if (found === undefined) throw notFound({ kind: 'Service', name }, declared);
  const pods = node.pods.filter(({ metadata: { namespace, labels = {} } }) => isSelected(found, { namespace, labels }));
  if (pods.length === 0) {
    throw new UserError(`Service ${visible(name)} selects no pod`, {
      hint: 'Show labels: kubelet-ts ps --show-labels',
    });
  }
  return { reference: chosenPod(pods, stderr), service: found };
}

/** `namespace/name` of the first Ready pod, or else of the newest. Names it on `stderr` if there are several. */
function chosenPod(pods: readonly Pod[], stderr: Writable): string {
  const newest = pods.toSorted((a, b) => startOf(b) - startOf(a))[0];
  const chosen = pods.find(({ status }) => isPodReady(status)) ?? newest;
  if (chosen === undefined) throw new Error('there are no pods to choose from');
  if (pods.length > 1) stderr.write(`Found ${pods.length} pods, using pod/${visible(chosen.metadata.name)}\n`);
  return podKey(chosen.metadata);
}

const startOf = ({ status }: Pod): number => parseRfc3339Ms(status?.startTime ?? '') ?? 0;
