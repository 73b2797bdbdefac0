import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { prepullImageVolumes } from './image-volumes.ts';
import { podSandboxConfig } from './pod-sandbox-config.ts';
import { type StartContainerDeps, startFailure } from './start-container.ts';

export type PrepullDeps = Pick<StartContainerDeps, 'imageManager' | 'node'>;

/**
 * Pulls the images of a pod that cannot start yet. Resolves with results that include failures. Rejects only if
 * aborted.
 */
export async function prepull(
  { imageManager, node }: PrepullDeps,
  pod: Pod,
  recorder: PodEventRecorder,
  signal: AbortSignal,
): Promise<SyncResult[]> {
  const results: SyncResult[] = [];
  const sandboxConfig = await podSandboxConfig(pod, 0, node, undefined, undefined);
  for (const container of initAndRegularContainers(pod.spec)) {
    const target = container.name;
    try {
      const request = { pod, container, sandboxConfig, recorder, signal };
      await prepullImageVolumes(imageManager, request);
      await imageManager.prepull(request);
      results.push({ action: 'startContainer', target });
    } catch (error) {
      signal.throwIfAborted();
      results.push(startFailure(target, error));
    }
  }
  return results;
}
