import { systemClock } from '../../clock.ts';
import { type ImageStore, imageStoreOf } from '../../containerd/ctr.ts';
import type { ManagedContainerd } from '../../containerd/managed-containerd.ts';
import { UserError } from '../../errors.ts';
import { createLogger } from '../../node/log/create-logger.ts';
import { findRuntimeOfAgent } from '../../node/find-runtime.ts';
import { moveToOwnScope } from '../../node/own-scope.ts';

/** Flags of every command of `images`. */
export interface ImageFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
}

/** The images of the runtime that these flags select. `task` is the subject of the error for another runtime. */
export async function openStore(flags: ImageFlags, task: string): Promise<ImageStore> {
  const { rootDir, containerRuntimeEndpoint: flag } = flags;
  const { endpoint } = await findRuntimeOfAgent({ rootDir, flag });
  return imageStoreOf(endpoint, task);
}

/** The managed containerd, if the flags select it. Starts it if it does not run. It keeps running after its release. */
export async function startManaged(flags: ImageFlags, signal?: AbortSignal): Promise<ManagedContainerd | undefined> {
  const { rootDir, containerRuntimeEndpoint: flag } = flags;
  const { managed } = await findRuntimeOfAgent({ rootDir, flag });
  if (!managed) return undefined;
  const { ManagedContainerd } = await import('../../containerd/managed-containerd.ts');
  const { logger } = await createLogger('text', 'warn');
  const containerd = new ManagedContainerd({
    rootDir,
    clock: systemClock,
    logger,
    moveToScope: (process) => moveToOwnScope(process, { rootDir, clock: systemClock, logger }),
  });
  await containerd.start(signal);
  return containerd;
}

/** The exit code of `run-once`. */
const interruptedExitCode = 130;

/** Aborts at the first SIGINT or SIGTERM during `use`, so that it can clean up. */
export async function abortOnSignal<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    abort.abort(new UserError(`stopped by ${signal}`, { exitCode: interruptedExitCode }));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await use(abort.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
