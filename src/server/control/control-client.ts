import { access, constants, watch } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EphemeralContainer } from '../../api/types.ts';
import type { WorkloadName } from '../../api/values/workload.ts';
import type { WorkloadAction } from '../../engine/workloads/workload-operations.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import type { AppliedObject, AppliedResult } from '../../engine/applied/applied-object.ts';
import type { HistoryEntry } from '../../engine/history/history-entry.ts';
import type { OperationAction, RevisionSummary } from '../../engine/operations/operation.ts';
import type { Summary } from '../../engine/stats/summary.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { hasCode, isOutOfWatches } from '../../errors.ts';
import { needsRoot } from '../../process/needs-root.ts';
import type { ProcessIdentity } from '../../process/process-identity.ts';
import type { ChangeLine } from './change-feed.ts';
import { AgentSilentError } from './agent-errors.ts';
import { type Call, call, defaultMaxBodyBytes, stream, untilExited } from './control-call.ts';

/** Milliseconds between two checks for an agent where the kernel has no watch left. */
const unwatchedPeriodMs = 500;

/** The socket of an agent, for a command that waits while the agent is too busy to answer. */
export interface PatientSocket {
  socketPath: string;
  onBusy: (agent: ProcessIdentity) => void;
}

/** By its path for a command that works without the agent, or for a test. */
export type AgentSocket = string | PatientSocket;

const addressed = (socket: AgentSocket): { socketPath: string; onBusy?: PatientSocket['onBusy'] } =>
  typeof socket === 'string' ? { socketPath: socket } : socket;

/**
 * Requests to an agent. Each rejects with an `AgentSilentError` within 2 s if the agent is stuck, and with a
 * `PatientSocket` after a minute if it makes progress.
 */

/**
 * The snapshot of the agent that serves this socket, with its process id. Returns undefined if no agent answers. While
 * the agent waits for its runtime: with `waits` waits as well, without it rejects with a `UserError`. With `settled`
 * the snapshot includes everything that the manifests on disk declared at the time of the call.
 */
export async function fetchSnapshot(
  path: AgentSocket,
  { waits = false, settled = false } = {},
): Promise<(EngineSnapshot & { pid: number }) | undefined> {
  return requestJSON<EngineSnapshot & { pid: number }>(
    path,
    `/v1/snapshot?${[...(waits ? ['wait'] : []), ...(settled ? ['settled'] : [])].join('&')}`,
  );
}

/** The history of a pod, from the agent of this socket. Returns undefined if no agent answers. */
export async function fetchHistory(
  path: AgentSocket,
  { namespace, name }: { namespace: string; name: string },
): Promise<HistoryEntry[] | undefined> {
  const query = new URLSearchParams({ namespace, name });
  return requestJSON<HistoryEntry[]>(path, `/v1/history?${query.toString()}`);
}

/** The statistics of the agent that serves this socket. Returns undefined if no agent answers. */
export async function fetchStats(
  path: string,
  { maxAgeMs, cpuAndMemoryOnly = false }: { maxAgeMs: number; cpuAndMemoryOnly?: boolean },
): Promise<Summary | undefined> {
  return requestJSON<Summary>(path, `/v1/stats?maxAge=${maxAgeMs}${cpuAndMemoryOnly ? '&cpuAndMemoryOnly' : ''}`);
}

/** The metrics of the agent that serves this socket, for Prometheus. Returns undefined if no agent answers. */
export async function fetchMetrics(path: string): Promise<string | undefined> {
  return call({ socketPath: path, method: 'GET', path: '/v1/metrics' });
}

/**
 * The agent that serves this socket, even one that is still starting. Returns undefined if none answers. An agent of an
 * earlier release does not report its version.
 */
export async function fetchAgent(path: string): Promise<{ pid: number; version?: string } | undefined> {
  return requestJSON<{ pid: number; version?: string }>(path, '/v1/agent');
}

/**
 * The socket of the agent's container runtime. Returns undefined if no agent runs. Rejects with a `UserError` while
 * the agent waits for it.
 */
export async function fetchRuntimeEndpoint(path: string): Promise<string | undefined> {
  return (await requestJSON<{ runtimeEndpoint?: string }>(path, '/v1/agent?runtime'))?.runtimeEndpoint;
}

/** Resolves when an agent serves this socket, whose folder may be missing. Rejects if aborted first. */
export async function waitForAgent(path: string, signal: AbortSignal): Promise<void> {
  const found = new AbortController();
  await refuseHidden(path);
  const changes = folderChanges(dirname(path), AbortSignal.any([signal, found.signal]));
  for (;;) {
    // Watches before it looks, so that no change is missed.
    const changed = changes.next();
    // The promise may fail before it is awaited below.
    changed.catch(() => undefined);
    if ((await fetchAgent(path)) !== undefined) {
      found.abort();
      return;
    }
    await changed;
  }
}

/** Rejects if this user may not see the socket, which would look like no agent. */
async function refuseHidden(path: string): Promise<void> {
  await access(dirname(path), constants.X_OK).catch((error: unknown) => {
    if (hasCode(error, 'EACCES')) throw needsRoot(path, error);
  });
}

/** Yields at each change of a folder, or periodically if it is missing or the kernel has no more watches. */
async function* folderChanges(folder: string, signal: AbortSignal): AsyncGenerator<void, never> {
  try {
    const changes = watch(folder, { signal })[Symbol.asyncIterator]();
    while ((await changes.next()).done !== true) yield;
  } catch (error) {
    if (!isOutOfWatches(error) && !hasCode(error, 'ENOENT')) throw error;
  }
  for (;;) {
    await delay(unwatchedPeriodMs, undefined, { signal });
    yield;
  }
}

/**
 * Asks the agent to perform an action on a declared pod. Resolves with its sentence, or with undefined if no agent
 * runs. Rejects with a `UserError` if the agent refuses.
 */
export async function operate(
  path: AgentSocket,
  { namespace, name }: PodName,
  action: OperationAction,
  options: { container?: string; to?: number } = {},
): Promise<string | undefined> {
  const url = `${podPath({ namespace, name })}/${action}`;
  const answer = await requestJSON<{ message: string }>(path, url, 'POST', Buffer.from(JSON.stringify(options)));
  return answer?.message;
}

/**
 * Requests an action on a declared workload. Resolves with what was done, such as `scaled`, once it is on disk.
 * Resolves with undefined if no agent runs. Rejects with a `UserError` if the agent refuses.
 */
export async function operateWorkload(
  path: AgentSocket,
  { kind, namespace, name }: WorkloadName,
  action: WorkloadAction,
  options: { replicas?: number; to?: number } = {},
): Promise<string | undefined> {
  const parts = [kind, namespace, name, action].map(encodeURIComponent);
  const body = Buffer.from(JSON.stringify(options));
  return (await requestJSON<{ message: string }>(path, `/v1/workloads/${parts.join('/')}`, 'POST', body))?.message;
}

/**
 * Requests that the agent adds an ephemeral container to a running pod. Resolves with its name once it is on disk.
 * Resolves with undefined if no agent runs. Rejects with a `UserError` if the agent refuses.
 */
export async function addEphemeralContainer(
  path: AgentSocket,
  pod: PodName,
  container: EphemeralContainer,
  removesAtEnd: boolean,
): Promise<string | undefined> {
  const url = `${podPath(pod)}/ephemeralcontainers`;
  const options = Buffer.from(JSON.stringify({ container, removesAtEnd }));
  return (await requestJSON<{ name: string }>(path, url, 'POST', options))?.name;
}

/**
 * Requests that the agent stops and removes an ephemeral container. Resolves with its sentence. Rejects like
 * `addEphemeralContainer`.
 */
export async function removeEphemeralContainer(
  path: AgentSocket,
  pod: PodName,
  container: string,
): Promise<string | undefined> {
  const url = `${podPath(pod)}/ephemeralcontainers/${encodeURIComponent(container)}`;
  return (await requestJSON<{ message: string }>(path, url, 'DELETE'))?.message;
}

/** The revisions of a declared pod, oldest first. Returns undefined if no agent answers. */
export async function fetchRevisions(path: AgentSocket, pod: PodName): Promise<RevisionSummary[] | undefined> {
  return requestJSON<RevisionSummary[]>(path, `${podPath(pod)}/revisions`);
}

/**
 * Requests that the agent applies a manifest text. Resolves with its results. Resolves with undefined if no agent runs.
 * Rejects with a `UserError` if the agent refuses; then nothing was applied.
 */
export async function applyManifests(
  path: AgentSocket,
  body: Uint8Array,
  dryRun: boolean,
): Promise<AppliedResult[] | undefined> {
  const url = `/v1/applied${dryRun ? '?dryRun' : ''}`;
  return (await requestJSON<{ objects: AppliedResult[] }>(path, url, 'PUT', body))?.objects;
}

/**
 * Requests that the agent deletes an applied object. Resolves with undefined if no agent runs. Rejects like
 * `applyManifests`.
 */
export async function deleteApplied(
  path: AgentSocket,
  { kind, namespace, name }: AppliedObject,
  dryRun: boolean,
): Promise<AppliedResult | undefined> {
  const parts = [kind.toLowerCase(), ...(namespace === '' ? [] : [namespace]), name].map(encodeURIComponent);
  return requestJSON<AppliedResult>(path, `/v1/applied/${parts.join('/')}${dryRun ? '?dryRun' : ''}`, 'DELETE');
}

function podPath({ namespace, name }: PodName): string {
  return `/v1/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Requests that the agent stops; its pods keep running. Returns false if no agent runs. */
export async function requestShutdown(path: AgentSocket): Promise<boolean> {
  return (await call({ ...addressed(path), method: 'POST', path: '/v1/shutdown' })) !== undefined;
}

/** Resolves when the agent that serves this socket has exited, which also closes its event stream. */
export async function waitForEnd(path: AgentSocket): Promise<void> {
  await untilExited({ ...addressed(path), method: 'GET', path: '/v1/events' });
}

/**
 * Yields every event of the agent from now on, until it exits or the signal is aborted. Yields none if no agent runs.
 */
export async function* followEvents(path: AgentSocket, signal: AbortSignal): AsyncGenerator<KubeletEvent, void> {
  for await (const line of stream({ ...addressed(path), method: 'GET', path: '/v1/events' }, signal)) {
    yield JSON.parse(line) as KubeletEvent;
  }
}

/**
 * Yields the snapshot of the agent, then its changes, until it exits or the signal is aborted. Yields none if no agent
 * runs. An agent that is starting or waits for its runtime refuses, unless the client waits.
 */
export async function* followChanges(
  path: string,
  signal: AbortSignal,
  { waits = false } = {},
): AsyncGenerator<ChangeLine, void> {
  const asked = { socketPath: path, path: `/v1/changes${waits ? '?wait' : ''}`, maxLineLength: defaultMaxBodyBytes };
  for await (const line of stream({ method: 'GET', ...asked }, signal)) yield JSON.parse(line) as ChangeLine;
}

async function requestJSON<T>(
  socket: AgentSocket,
  path: string,
  method: Call['method'] = 'GET',
  body?: Uint8Array,
): Promise<T | undefined> {
  const to = addressed(socket);
  const answer = await call({ ...to, method, path, body });
  if (answer === undefined) return undefined;
  try {
    return JSON.parse(answer) as T;
  } catch {
    // Another program listens on the socket.
    throw await AgentSilentError.of(to.socketPath, { what: 'sends an answer that is not JSON' });
  }
}
