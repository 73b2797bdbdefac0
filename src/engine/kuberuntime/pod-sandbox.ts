import type { Pod } from '../../api/types.ts';
import type { NodeClassLookup } from '../../api/values/node-class.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { runtimeHandler } from '../../api/values/resolve-classes.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import { errorMessage } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';
import { podLogsDirectory } from '../container/log-paths.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { UserNamespaces } from '../userns/user-namespaces.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { PodActions } from './actions/pod-actions.ts';
import { makingCall } from './making-call.ts';
import { podSandboxConfig } from './pod-sandbox-config.ts';
import type { RuntimeSettings } from './request/runtime-settings.ts';
import { networkIPs } from './runtime-pods.ts';

export interface PodSandboxDeps {
  runtime: RuntimeService;
  node: RuntimeSettings;
  nodeClasses: Pick<NodeClassLookup, 'runtimeClass'>;
  /** Undefined if the feature gate UserNamespacesSupport is off. */
  userNamespaces?: UserNamespaces | undefined;
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
 * The running sandbox of a pod, or the one that the actions want created. Adds the result of the creation or of a
 * failure, which returns undefined. Rejects only if aborted. kubelet: kuberuntime_sandbox.go createPodSandbox
 */
export async function podSandbox(
  deps: PodSandboxDeps,
  { pod, podStatus, recorder, signal }: SandboxSync,
  { createSandbox, sandboxID, attempt }: PodActions,
  results: SyncResult[],
): Promise<PodSandbox | undefined> {
  const { runtime, node, nodeClasses, clock } = deps;
  const target = formatPod(pod);
  // A recorder only for a new sandbox, so that warnings do not repeat.
  const config = await sandboxConfig(deps, pod, attempt, results, createSandbox ? recorder : undefined);
  if (config === undefined) return undefined;
  if (!createSandbox) return { id: sandboxID, config, podIPs: podStatus.ips };
  try {
    await makeFolder(podLogsDirectory(node.podLogsDir, pod.metadata), 0o755);
    const handler = runtimeHandler(pod, nodeClasses);
    const request = { config, ...(handler !== '' && { runtimeHandler: handler }) };
    const { podSandboxId } = await makingCall(clock, signal, (options) => runtime.runPodSandbox(request, options));
    results.push({ action: 'createPodSandbox', target });
    if (pod.spec.hostNetwork === true) return { id: podSandboxId, config, podIPs: [] };
    const { status } = await runtime.podSandboxStatus({ podSandboxId });
    return { id: podSandboxId, config, podIPs: networkIPs(status?.network) };
  } catch (error) {
    signal.throwIfAborted();
    const message = errorMessage(error);
    recorder.warning(reasons.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`);
    results.push({ action: 'createPodSandbox', target, error, reason: reasons.createPodSandboxError, message });
    return undefined;
  }
}

async function sandboxConfig(
  { node, userNamespaces }: PodSandboxDeps,
  pod: Pod,
  attempt: number,
  results: SyncResult[],
  recorder: PodEventRecorder | undefined,
): Promise<PodSandboxConfig | undefined> {
  try {
    const userNamespace = await userNamespaces?.getOrCreate(pod);
    return await podSandboxConfig(pod, attempt, node, recorder, userNamespace);
  } catch (error) {
    const reason = reasons.configPodSandboxError;
    results.push({ action: 'configPodSandbox', target: formatPod(pod), error, reason, message: errorMessage(error) });
    return undefined;
  }
}
