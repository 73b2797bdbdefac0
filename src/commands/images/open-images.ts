import { resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { type ImageStore, imageStoreOf } from '../../containerd/ctr.ts';
import { createLogger } from '../../node/log/create-logger.ts';
import { findRuntimeEndpoint } from '../../node/find-runtime.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import type { CommandDeps } from '../io/deps.ts';

/** Flags of every command of `images`. */
export interface ImageFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
}

/** Calls `use` with a connection to the runtime, which must run. */
export async function withRuntime<T>(
  { rootDir, containerRuntimeEndpoint: runtimeEndpoint }: ImageFlags,
  deps: Pick<CommandDeps, 'connect'>,
  use: (connection: RuntimeConnection) => Promise<T>,
): Promise<T> {
  const connection = await deps.connect({
    rootDir: resolve(rootDir),
    ...(runtimeEndpoint === undefined ? {} : { runtimeEndpoint }),
  });
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** The images of the runtime that these flags mean. `task` is the subject of the error for another runtime. */
export async function openStore(flags: ImageFlags, task: string): Promise<ImageStore> {
  const { endpoint } = await findRuntimeEndpoint({
    rootDir: resolve(flags.rootDir),
    flag: flags.containerRuntimeEndpoint,
  });
  return imageStoreOf(endpoint, task);
}

/** Starts the managed containerd if the flags mean it and it does not run. It keeps running. */
export async function startManaged(flags: ImageFlags): Promise<void> {
  const rootDir = resolve(flags.rootDir);
  const { managed } = await findRuntimeEndpoint({ rootDir, flag: flags.containerRuntimeEndpoint });
  if (!managed) return;
  const { ManagedContainerd } = await import('../../containerd/managed-containerd.ts');
  const { logger } = await createLogger('text', 'warn');
  const containerd = new ManagedContainerd({ rootDir, clock: systemClock, logger });
  await containerd.start();
  containerd.release();
}

/** Aborts at the first SIGINT or SIGTERM during `use`, so that it can clean up. */
export async function untilSignalled<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    abort.abort(new Error(`ended by ${signal}`));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await use(abort.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
