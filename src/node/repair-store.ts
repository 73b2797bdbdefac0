import { systemClock } from '../clock.ts';
import {
  ManagedContainerd,
  type ManagedContainerdOptions,
  type RepairedStore,
} from '../containerd/managed-containerd.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import { UserError } from '../errors.ts';
import { readAgentProcess } from '../server/control/agent-process.ts';
import { rootSocketPath } from '../server/control/socket-paths.ts';
import { findRuntimeEndpoint } from './find-runtime.ts';
import { lastRuntime } from './last-runtime.ts';
import { createLogger } from './log/create-logger.ts';
import { moveToOwnScope } from './own-scope.ts';
import { allPodsToStop } from './pods-to-stop.ts';

interface RepairRequest {
  rootDir: string;
  /** The runtime that the user named. */
  endpoint: string | undefined;
  signal: AbortSignal;
}

/** Replaces the store of the managed containerd of a root-dir. Rejects with a `UserError` for any other runtime. */
export async function repairStore(request: RepairRequest): Promise<RepairedStore & { hasAgent: boolean }> {
  const { rootDir, endpoint: flag, signal } = request;
  const { endpoint, managed } = await findRuntimeEndpoint({ rootDir, flag, ofAgent: await lastRuntime(rootDir) });
  if (!managed || !(await hasManagedContainerd(rootDir))) {
    throw new UserError(`kubelet-ts does not manage the runtime ${endpoint}, and never changes its store`, {
      hint: 'Use the tools of that runtime.',
    });
  }
  const { logger } = await createLogger('text', 'warn');
  const moveToScope: ManagedContainerdOptions['moveToScope'] = (process) =>
    moveToOwnScope(process, { rootDir, clock: systemClock, logger });
  const containerd = new ManagedContainerd({ rootDir, clock: systemClock, logger, moveToScope });
  const hasAgent = (await readAgentProcess(rootSocketPath(rootDir))) !== undefined;
  try {
    return { hasAgent, ...(await containerd.repairStore({ pods: await allPodsToStop(rootDir), hasAgent, signal })) };
  } finally {
    containerd.release();
  }
}
