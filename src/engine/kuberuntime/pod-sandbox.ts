import type { Pod } from '../../api/types.ts';
import type { NodeClassLookup } from '../../api/values/node-class.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { runtimeHandler } from '../../api/values/resolve-classes.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { runningNetworkPlugin } from '../host/network-plugin.ts';
import { podLogsDirectory } from '../container/log-paths.ts';
import type { ExclusiveCPUs } from '../container-manager/resource-managers/exclusive-cpus.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { SyncResult } from '../container/sync-result.ts';
import { describeListener, findPortListeners, listenerHint } from '../network/port-listeners.ts';
import type { UserNamespaces } from '../userns/user-namespaces.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { SandboxDelay } from '../view/snapshot.ts';
import type { PodActions } from './actions/pod-actions.ts';
import { sandboxFaults } from '../view/sandbox-faults.ts';
import { delayMs, createCall } from './create-call.ts';
import { podSandboxConfig } from './pod-sandbox-config.ts';
import type { RuntimeSettings } from './request/runtime-settings.ts';
import { networkIPs } from './runtime-pods.ts';

export interface PodSandboxDeps {
  runtime: RuntimeService;
  node: RuntimeSettings;
  nodeClasses: Pick<NodeClassLookup, 'runtimeClass'>;
  userNamespaces: UserNamespaces;
  exclusiveCPUs: ExclusiveCPUs;
  /** By pod UID, the sandboxes that the runtime takes long to create. */
  sandboxDelays: Map<string, SandboxDelay>;
  clock: Clock;
}

/** The sync of a pod that needs a sandbox. */
interface SandboxSync {
  pod: Pod;
  podStatus: RuntimePodStatus;
  recorder: PodEventRecorder;
  signal: AbortSignal;
}

/** The sandbox in which a sync starts containers. */
export interface PodSandbox {
  id: string;
  config: PodSandboxConfig;
  podIPs: readonly string[];
}

/**
 * Resolves with the running sandbox of a pod, or creates one if the actions require it. Adds the result to `results`.
 * Resolves with undefined after a failure. Rejects only if aborted. kubelet: kuberuntime_sandbox.go createPodSandbox
 */
export async function podSandbox(
  deps: PodSandboxDeps,
  { pod, podStatus, recorder, signal }: SandboxSync,
  { createSandbox, sandboxID, attempt }: PodActions,
  results: SyncResult[],
): Promise<PodSandbox | undefined> {
  const { runtime, node, nodeClasses, sandboxDelays, clock } = deps;
  const { uid } = pod.metadata;
  const target = formatPod(pod);
  // Record warnings only for a new sandbox, so that they do not repeat.
  const config = await sandboxConfig(deps, pod, attempt, createSandbox ? recorder : undefined).catch(
    (error: unknown) => {
      const message = errorMessage(error);
      const hint = error instanceof UserError ? error.hint : undefined;
      recorder.warning(reasons.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`, undefined, hint);
      results.push({ action: 'configPodSandbox', target, error, reason: reasons.configPodSandboxError, message });
      return undefined;
    },
  );
  if (config === undefined) return undefined;
  if (!createSandbox) return { id: sandboxID, config, podIPs: podStatus.ips };
  let isAnswered = false;
  const reportDelay = async (): Promise<void> => {
    const plugin = await runningNetworkPlugin(uid).catch(() => undefined);
    if (isAnswered) return;
    const seconds = delayMs / 1000;
    sandboxDelays.set(uid, { seconds, ...(plugin !== undefined && { plugin }) });
    const because = plugin === undefined ? '' : `: it waits for the network plugin ${plugin}`;
    const message = `The container runtime has not created the pod sandbox within ${String(seconds)} s${because}`;
    recorder.warning(reasons.sandboxDelayed, message);
  };
  try {
    await makeFolder(podLogsDirectory(node.podLogsDir, pod.metadata), 0o755);
    for (const listener of await findPortListeners(pod))
      recorder.warning(reasons.hostPortInUse, describeListener(listener), undefined, listenerHint);
    const handler = runtimeHandler(pod, nodeClasses);
    const request = { config, ...(handler !== '' && { runtimeHandler: handler }) };
    const { podSandboxId } = await createCall(
      clock,
      signal,
      (options) => runtime.runPodSandbox(request, options),
      () => void reportDelay(),
    ).finally(() => {
      isAnswered = true;
      sandboxDelays.delete(uid);
    });
    if (pod.spec.hostNetwork === true) {
      results.push({ action: 'createPodSandbox', target });
      return { id: podSandboxId, config, podIPs: [] };
    }
    const { status } = await runtime.podSandboxStatus({ podSandboxId });
    const podIPs = networkIPs(status?.network);
    // The next sync will replace this sandbox, so start no containers in it.
    if (status?.network && podIPs.length === 0) throw new Error(sandboxFaults.noAddress);
    results.push({ action: 'createPodSandbox', target });
    return { id: podSandboxId, config, podIPs };
  } catch (error) {
    signal.throwIfAborted();
    const message = errorMessage(error);
    recorder.warning(reasons.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`);
    results.push({ action: 'createPodSandbox', target, error, reason: reasons.createPodSandboxError, message });
    return undefined;
  }
}

async function sandboxConfig(
  { node, userNamespaces, exclusiveCPUs }: PodSandboxDeps,
  pod: Pod,
  attempt: number,
  recorder: PodEventRecorder | undefined,
): Promise<PodSandboxConfig> {
  const userNamespace = await userNamespaces.getOrCreate(pod);
  return podSandboxConfig(pod, attempt, node, recorder, { userNamespace, exclusiveCPUs: exclusiveCPUs(pod) });
}
