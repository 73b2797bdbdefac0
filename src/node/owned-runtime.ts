import { systemClock } from '../clock.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { retryWhileUnavailable } from '../cri/retry-while-unavailable.ts';
import { findRootOwner, keepRootOwner } from '../engine/container/root-owner.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import { OwnedRuntime, ownerByFiles } from '../engine/kuberuntime/owned-runtime.ts';
import type { Logger } from '../logger.ts';

/** The role of the caller for a root-dir. */
export interface RootKeeper {
  rootDir: string;
  /** True for the agent, which creates pods and stores the root-dir's identity on disk. */
  makesPods: boolean;
  /** Set by the agent, which sets a damaged identity aside. */
  logger?: Logger;
  signal: AbortSignal;
}

/** A runtime limited to the pods of this root-dir. */
export async function ownedRuntime(
  { rootDir, makesPods, logger, signal }: RootKeeper,
  runtime: RuntimeService,
): Promise<OwnedRuntime> {
  const clock = systemClock;
  const recover = (dir: string): Promise<string | undefined> =>
    retryWhileUnavailable(() => ownerByFiles(runtime, dir), { clock, signal });
  const owner = await findRootOwner({ rootDir, now: clock.now(), recover, logger: makesPods ? logger : undefined });
  if (makesPods) await keepRootOwner(owner);
  const podDirs = new PodDirs({ rootDir });
  return new OwnedRuntime({ runtime, owner, podUIDs: () => podDirs.podUIDs(), clock, signal });
}
