import { systemClock } from '../clock.ts';
import {
  ManagedContainerd,
  type ManagedContainerdOptions,
  type RepairedStore,
} from '../containerd/managed-containerd.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import type { StoreSetAside } from '../containerd/set-aside-store.ts';
import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { readAgentProcess } from '../server/control/control-call.ts';
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
  const place: ManagedContainerdOptions['place'] = (process) =>
    moveToOwnScope(process, { rootDir, clock: systemClock, logger });
  const containerd = new ManagedContainerd({ rootDir, clock: systemClock, logger, place });
  const hasAgent = (await readAgentProcess(rootSocketPath(rootDir))) !== undefined;
  try {
    return { hasAgent, ...(await containerd.repairStore({ pods: await allPodsToStop(rootDir), hasAgent, signal })) };
  } finally {
    containerd.release();
  }
}

/** Logs that a damaged store was set aside, and calls `onReport` with a sentence for an event. */
export function reportSetAside(
  logger: Logger,
  onReport: (sentence: string) => void = () => undefined,
): NonNullable<ManagedContainerdOptions['onSetAside']> {
  return (store, damage) => {
    logger.warn(
      { err: errorMessage(damage), path: store.path },
      'The store of containerd is damaged; starting a new one',
    );
    logger.warn(describeSetAside(store));
    onReport(`The store of containerd was damaged and is replaced. ${describeSetAside(store)}`);
  };
}

/** Says where the old store is and how large it is. */
export function describeSetAside({ path, bytes, isKept }: StoreSetAside): string {
  const size = `${Math.ceil(bytes / 1024 ** 2)} MiB`;
  return isKept
    ? `The old store (${size}) is in ${path}; delete it if you do not need it`
    : `The old store (${size}) was deleted, because the disk has no room for a second one`;
}
