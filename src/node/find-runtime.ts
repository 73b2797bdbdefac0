import { systemClock } from '../clock.ts';
import { awaitEndpoint } from '../containerd/await-endpoint.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import { probeEndpoint } from '../containerd/probe-endpoint.ts';
import {
  chooseRuntimeEndpoint,
  type EndpointName,
  failureOfNamed,
  type RuntimeEndpoint,
} from '../containerd/runtime-endpoint.ts';
import type { UserError } from '../errors.ts';
import { AgentSilentError, AgentStartingError } from '../server/control/agent-errors.ts';
import { fetchRuntimeEndpoint } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { lastRuntime } from './last-runtime.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { ownedRuntime } from './owned-runtime.ts';

/** Deadline of a call in milliseconds. */
const unreadyQueryMs = 5000;

/** How to wait for a runtime named by the user. */
export interface RuntimeWait {
  /** Called if the runtime does not answer yet. The error has what is missing, and a hint. */
  onWaiting: (problem: UserError) => Promise<void>;
  signal: AbortSignal;
}

/**
 * Chooses the runtime by the flags and the machine (docs/use/images.md). Without `wait`, a runtime named by the user
 * must answer.
 */
export async function findRuntimeEndpoint(options: {
  rootDir: string;
  flag: string | undefined;
  /** Where its name came from, if not from the flag. */
  flagName?: EndpointName | undefined;
  ofAgent?: string | undefined;
  wait?: RuntimeWait | undefined;
}): Promise<RuntimeEndpoint> {
  const { rootDir, flag, flagName = '--container-runtime-endpoint', ofAgent, wait } = options;
  const name = (flag ?? '') === '' ? '$CONTAINER_RUNTIME_ENDPOINT' : flagName;
  return chooseRuntimeEndpoint({
    flag,
    flagName,
    ofAgent,
    env: namedByEnvironment(),
    rootDir,
    recorded: await hasManagedContainerd(rootDir),
    probe: probeEndpoint,
    unreadyBecause: (endpoint) => unreadyBecause(endpoint, rootDir),
    ...(wait !== undefined && {
      probeNamed: (named: string) =>
        awaitEndpoint(named, {
          probe: probeEndpoint,
          clock: systemClock,
          onWaiting: (endpoint, absence) => wait.onWaiting(failureOfNamed(endpoint, absence, name)),
          signal: wait.signal,
        }),
    }),
  });
}

/**
 * Chooses the runtime for a command that runs next to an agent. Without the flag and the variable, it is the runtime of
 * the agent, which the agent's configuration may name. If no agent runs, or it is starting or does not answer, it is
 * the runtime of the last agent. Rejects with a `UserError` if the agent waits for its runtime.
 */
export async function findRuntimeOfAgent(location: {
  rootDir: string;
  flag: string | undefined;
}): Promise<RuntimeEndpoint> {
  const { rootDir, flag } = location;
  if ((flag ?? '') !== '' || (namedByEnvironment() ?? '') !== '') return findRuntimeEndpoint(location);
  const ofAgent = await fetchRuntimeEndpoint(controlSocketPath(rootDir)).catch((error: unknown) => {
    if (error instanceof AgentStartingError || error instanceof AgentSilentError) return undefined;
    throw error;
  });
  return findRuntimeEndpoint({ rootDir, flag, ofAgent: ofAgent ?? (await lastRuntime(rootDir)) });
}

const namedByEnvironment = (): string | undefined => process.env['CONTAINER_RUNTIME_ENDPOINT'];

/**
 * Why the runtime at an endpoint cannot run pods with a network: its network is not ready. Returns undefined if it is
 * ready, if the runtime does not answer, or if it has pods of this root-dir, which must stay where they are.
 */
export async function unreadyBecause(endpoint: string, rootDir: string): Promise<string | undefined> {
  const channel = openChannel(endpoint);
  try {
    const runtime = grpcRuntimeService(channel, unreadyQueryMs);
    const { status } = await runtime.status({});
    const network = status?.conditions.find(({ type }) => type === 'NetworkReady');
    if (network === undefined || network.status) return undefined;
    const signal = AbortSignal.timeout(unreadyQueryMs);
    const { runtime: own } = await ownedRuntime({ rootDir, makesPods: false, signal }, runtime);
    const { items } = await own.listPodSandbox({});
    return items.length > 0 ? undefined : network.message || network.reason || 'its network is not ready';
  } catch {
    // Skips only a runtime that reports this. Connecting to any other one reports its errors.
    return undefined;
  } finally {
    channel.close();
  }
}
