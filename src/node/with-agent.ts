import { systemClock } from '../clock.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { AppliedManifests } from '../engine/applied/applied-manifests.ts';
import type { PodSource } from '../engine/config/pod-source.ts';
import type { Kubelet } from '../engine/kubelet.ts';
import type { UserError } from '../errors.ts';
import type { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';
import { makeFolder } from '../files/make-folder.ts';
import { requireRoot } from '../process/needs-root.ts';
import { refuseForeignRootDir } from '../files/own-paths.ts';
import { AgentMetrics } from '../server/metrics/agent-metrics.ts';
import { serveControlSocket } from '../server/control/control-socket.ts';
import { groupSocketPath, rootSocketPath } from '../server/control/socket-paths.ts';
import { findControlGroup } from './control-group.ts';
import type { RuntimeWait } from './find-runtime.ts';
import type { OnStarting } from './import-images.ts';
import { referenceVersion } from './options/flags.ts';
import type { NodeOptions } from './options/node-options.ts';
import { type NodeRequest, openNode } from './open-node.ts';
import { setAsideMisplaced } from './set-aside-misplaced.ts';

export interface AgentRequest {
  options: NodeOptions;
  sources: (node: { nodeName: string }) => PodSource[];
  /** Manifests that operators apply. Without it, such requests are refused. */
  applied?: AppliedManifests;
  /** Returns the state of the status URLs, for the snapshot. */
  statusURLs?: NodeRequest['statusURLs'];
  logger: Logger;
  /** Receives failures of the agent itself, including uncaught errors. */
  faults: Faults;
  /** Aborted by a shutdown request. Also stops the start. */
  stopping: AbortController;
  /** Called before waiting for a runtime named by the user. Without it, a missing runtime is an error. */
  onWaiting?: RuntimeWait['onWaiting'];
  /** Called before a slow step of the start. */
  onStarting?: OnStarting;
  /** Called once the control socket answers and reports why there is no engine yet. */
  onServing?: (() => void) | undefined;
}

/** Why an agent stops at the request of a client of its control socket, such as `down`. */
export class ShutdownRequest extends Error {
  override readonly name = 'ShutdownRequest';
  override readonly message = 'a shutdown was requested';
}

/**
 * Builds the engine on its runtime, serves it on the control socket while `use` runs, and closes both. Opens the socket
 * first, because it is the lock of the root-dir, which also prevents a second start of the managed containerd.
 */
export async function withAgent<T>(
  { options, sources, applied, statusURLs, logger, faults, stopping, onWaiting, onStarting, onServing }: AgentRequest,
  use: (kubelet: Kubelet, runtime: RuntimeService, metrics: AgentMetrics) => Promise<T>,
): Promise<T> {
  requireRoot();
  const group = await findControlGroup(options.controlGroup);
  await makeFolder(options.rootDir, 0o750);
  // Repeats what each command does: another user may have created it in between.
  refuseForeignRootDir(options.rootDir);
  await setAsideMisplaced(options.rootDir, logger);
  let built = (_kubelet: Kubelet): void => undefined;
  let waitsFor: UserError | undefined;
  let resolveRuntimeFound = (): void => undefined;
  const runtimeFound = new Promise<void>((resolve) => {
    resolveRuntimeFound = resolve;
  });
  let reportServing = onServing;
  const markServing = (): void => {
    resolveRuntimeFound();
    reportServing?.();
    reportServing = undefined;
  };
  const onWaits = async (problem: UserError): Promise<void> => {
    waitsFor = problem;
    markServing();
    await onWaiting?.(problem);
  };
  let starts = (): string | undefined => undefined;
  const onStarts: OnStarting = async (doing) => {
    starts = doing;
    markServing();
    await onStarting?.(doing);
  };
  const metrics = new AgentMetrics(systemClock, { version: referenceVersion, featureGates: options.featureGates });
  const socket = await serveControlSocket(rootSocketPath(options.rootDir), {
    shared: { path: groupSocketPath(options.rootDir), group },
    view: new Promise((resolve) => {
      built = resolve;
    }),
    applied,
    metrics,
    runtimeFound,
    waitsFor: () => waitsFor?.message,
    starts: () => starts(),
    shutdown: () => {
      stopping.abort(new ShutdownRequest());
    },
    faults,
    logger: logger.child({ component: 'control' }),
    signal: stopping.signal,
  });
  const endSurvival = surviveBugs(faults);
  try {
    // If it fails, the source reports the problem with the folder.
    await applied?.open().catch((error: unknown) => {
      faults.record('applied manifests', error);
    });
    const node = await openNode(
      { options, sources, statusURLs, logger, faults, signal: stopping.signal, onStarting: onStarts, metrics },
      onWaiting && onWaits,
    );
    waitsFor = undefined;
    metrics.follow(node.kubelet);
    try {
      built(node.kubelet);
      markServing();
      return await use(node.kubelet, node.runtime, metrics);
    } finally {
      node.close();
    }
  } finally {
    endSurvival();
    await socket.close();
  }
}

/** Counts and logs uncaught errors, which stop neither the agent nor its pods. Returns a function that stops this. */
function surviveBugs(faults: Pick<Faults, 'record'>): () => void {
  const report = (error: unknown): void => {
    faults.record('agent', error);
  };
  process.on('uncaughtException', report).on('unhandledRejection', report);
  return () => {
    process.off('uncaughtException', report).off('unhandledRejection', report);
  };
}
