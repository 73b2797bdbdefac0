import { systemClock } from '../clock.ts';
import { awaitEndpoint } from '../containerd/await-endpoint.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import { probeEndpoint } from '../containerd/probe-endpoint.ts';
import { chooseRuntimeEndpoint, failureOf, type RuntimeEndpoint } from '../containerd/runtime-endpoint.ts';
import type { UserError } from '../errors.ts';

/** How to wait for a runtime named by the user. */
export interface RuntimeWait {
  /** Called if the runtime does not answer yet. The error says what is missing, with a hint. */
  onWaiting: (problem: UserError) => Promise<void>;
  signal: AbortSignal;
}

/**
 * Chooses the runtime by the flags and the machine (docs/runtimes.md). Without `wait`, a runtime named by the user must
 * answer.
 */
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
