import type { Pod } from '../../api/types.ts';
import { allContainerStatuses } from '../../api/values/container-statuses.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { StatsProvider } from '../../engine/stats/stats-provider.ts';
import type { EngineView } from '../../engine/view/snapshot.ts';
import { Refusal } from './answers.ts';

/** The part of the engine that the API serves. */
export interface ApiEngine extends Pick<EngineView, 'snapshot' | 'subscribe'>, Pick<StatsProvider, 'summary'> {
  /** Why the sync loop is blocked. Returns undefined if it is not. */
  unhealthyBecause(): string | undefined;
  /** Why device plugins cannot register. Returns undefined if they can. */
  devicePluginsUnhealthyBecause(): string | undefined;
}

export type ApiRuntime = Pick<
  RuntimeService,
  | 'attach'
  | 'checkpointContainer'
  | 'containerStatus'
  | 'exec'
  | 'execSync'
  | 'listContainers'
  | 'listPodSandbox'
  | 'portForward'
  | 'reopenContainerLog'
>;

/** The declared pods with their status. kubelet: kubelet.go GetPods */
export const podsOf = (engine: Pick<ApiEngine, 'snapshot'>): Pod[] => engine.snapshot().pods.map(({ pod }) => pod);

export function podNamed(engine: Pick<ApiEngine, 'snapshot'>, namespace: string, name: string): Pod | undefined {
  return podsOf(engine).find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

/** The pod that the parameters of a route name. Throws a `Refusal` if no manifest declares it. */
export function declaredPod(engine: Pick<ApiEngine, 'snapshot'>, params: Readonly<Record<string, string>>): Pod {
  const pod = podNamed(engine, params['namespace'] ?? '', params['pod'] ?? '');
  if (pod === undefined) throw new Refusal(404, 'pod does not exist');
  return pod;
}

/** The id of a running container in the runtime. Returns undefined if it does not run. */
export function runningContainerID(pod: Pod, name: string): string | undefined {
  const status = allContainerStatuses(pod.status).find((container) => container.name === name);
  return status?.state?.running === undefined ? undefined : idInRuntime(status.containerID);
}

/** The id without its prefix such as `containerd://`. */
export const idInRuntime = (containerID: string | undefined): string | undefined =>
  containerID === undefined || containerID === '' ? undefined : containerID.replace(/^[^:]*:\/\//, '');
