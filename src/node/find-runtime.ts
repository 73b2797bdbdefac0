import { systemClock } from '../clock.ts';
import { awaitEndpoint } from '../containerd/await-endpoint.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import { probeEndpoint } from '../containerd/probe-endpoint.ts';
import { chooseRuntimeEndpoint, failureOf, type RuntimeEndpoint } from '../containerd/runtime-endpoint.ts';
import type { UserError } from '../errors.ts';

/** Patience with a runtime that was named. */
export interface RuntimeWait {
  /** Nobody is there yet; the error says what is missing and what to do. */
  onWaiting: (problem: UserError) => Promise<void>;
  signal: AbortSignal;
}

/** Which runtime these flags and this machine come to (docs/runtimes.md). Without `wait` one that was named must be there. */
export async function findRuntimeEndpoint(options: {
  rootDir: string;
  flag: string | undefined;
  wait?: RuntimeWait | undefined;
}): Promise<RuntimeEndpoint> {
  const { rootDir, flag, wait } = options;
  return chooseRuntimeEndpoint({
    flag,
    env: process.env['CONTAINER_RUNTIME_ENDPOINT'],
    rootDir,
    recorded: await hasManagedContainerd(rootDir),
    probe: probeEndpoint,
    ...(wait !== undefined && {
      probeNamed: (named: string) =>
        awaitEndpoint(named, {
          probe: probeEndpoint,
          clock: systemClock,
          onWaiting: (endpoint, absence) => wait.onWaiting(failureOf(endpoint, absence)),
          signal: wait.signal,
        }),
    }),
  });
}
