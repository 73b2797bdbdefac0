import { buildFoundation, type Foundation } from './parts/foundation.ts';
import type { KubeletDeps } from './parts/kubelet-deps.ts';
import { buildNodeCare, type NodeCare } from './parts/node-care.ts';
import { buildPodCare, type PodCare } from './parts/pod-care.ts';
import { buildRuntimeView, type RuntimeView } from './parts/runtime-view.ts';
import { SyncHandlers } from './sync-handlers.ts';

/** The parts of the engine, tied to each other. */
export interface KubeletParts extends Foundation, RuntimeView, PodCare, NodeCare {
  handlers: SyncHandlers;
}

/** Builds every part of the engine; none of them does anything yet. `stopped` ends what they have under way. */
export function buildParts(deps: KubeletDeps, stopped: AbortSignal): KubeletParts {
  const foundation = buildFoundation(deps);
  const view = buildRuntimeView(deps, foundation);
  const podCare = buildPodCare(deps, foundation, view, stopped);
  const nodeCare = buildNodeCare(deps, foundation, view, podCare);
  const { config } = foundation;
  const { runtimeState, pleg } = view;
  const handlers = new SyncHandlers({
    ...foundation,
    ...podCare,
    ...nodeCare,
    runtimeName: () => runtimeState.name,
    sourceIds: config.sourceIds,
    runtimePods: () => pleg.pods(),
    relistPod: (uid) => podCare.news.relist(uid),
    isNameDeclared: (fullName) => config.declares(fullName),
    leaveOrphans: deps.leaveOrphans,
  });
  return { ...foundation, ...view, ...podCare, ...nodeCare, handlers };
}
