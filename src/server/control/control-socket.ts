import { chmod, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { dirname, join } from 'node:path';
import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { withFileLock } from '../../files/file-lock.ts';
import type { Faults } from '../../flow/faults.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { maxSocketPathBytes } from '../../files/max-socket-path-bytes.ts';
import { httpServer, listening } from '../http-server.ts';
import { ActionLog } from './action-log.ts';
import { ChangeFeed } from './change-feed.ts';
import { EventFeed } from './event-feed.ts';
import { ControlRefusal } from './control-answer.ts';
import { AgentSilentError } from './agent-errors.ts';
import { recordAgentProcess } from './agent-process.ts';
import { fetchAgent } from './control-client.ts';
import type { ControlCall, ControlContext, ControlledEngine } from './control-route.ts';
import { controlRoutes } from './control-routes.ts';
import { type ControlGroup, listenForGroup, removeGroupSocket } from './group-socket.ts';
import { unnamedSocketPath } from './socket-paths.ts';

/** For each of the two sockets. A client that does not read keeps one answer in our memory. */
export const maxConnections = 64;

/** The sockets of an agent. */
export interface ControlSocket {
  /** The one behind root's socket. */
  server: Server;
  /** Closes all connections. Resolves when all requests are in the log. */
  close: () => Promise<void>;
}

interface ControlSocketDeps extends Pick<ControlContext, 'applied' | 'metrics' | 'view' | 'shutdown'> {
  /** A second socket, and the group that may open it. Without a group the socket is removed. */
  shared?: { path: string; group: ControlGroup | undefined };
  /** Aborted if the socket is no longer needed. */
  signal?: AbortSignal;
  /** Resolves once the agent has looked up its runtime, so that the two below are known. Defaults to now. */
  runtimeFound?: Promise<void>;
  /** The unbounded wait before the engine can be built, if there is one. */
  waitsFor: () => string | undefined;
  /** The current step of a slow start. Returns undefined if there is none. */
  starts?: (() => string | undefined) | undefined;
  faults: Pick<Faults, 'record'>;
  logger: Logger;
}

/**
 * Serves the engine on a socket that only its owner may open, and possibly on a second one for a group.
 * `control-routes.ts` lists the routes.
 *
 * Requests that need the engine wait until it is built. During an unbounded wait they are refused, unless the client
 * asked to wait. The socket is also the lock of the root-dir: rejects if an agent answers on it.
 */
export async function serveControlSocket(
  path: string,
  {
    runtimeFound,
    waitsFor,
    starts,
    faults,
    logger,
    shared,
    signal = new AbortController().signal,
    ...deps
  }: ControlSocketDeps,
): Promise<ControlSocket> {
  for (const each of shared?.group === undefined ? [path] : [path, shared.path]) refuseLongPath(each);
  const engineFor = async ({ query }: ControlCall): Promise<ControlledEngine> => {
    if (query.has('wait')) return deps.view;
    await runtimeFound;
    const [reason, starting] = [waitsFor(), starts?.()];
    if (reason !== undefined) throw new ControlRefusal(503, reason);
    if (starting !== undefined) throw new ControlRefusal(202, starting);
    return deps.view;
  };
  const context = { ...deps, engineFor, changes: new ChangeFeed({ clock: systemClock }), events: new EventFeed() };
  const actions = new ActionLog();
  const server = httpServer(controlRoutes(context, { actions, logger }), { faults, maxConnections });
  await makeFolder(dirname(path), 0o700);
  // Binds under another name, sets the mode and renames, so that no other user can open the socket in between.
  const unnamed = unnamedSocketPath(path);
  await rm(unnamed, { force: true });
  await listening(server, { path: unnamed });
  try {
    await chmod(unnamed, 0o600);
    // Under a lock, so that of two agents that start at once only one takes the name.
    const takeName = async (): Promise<void> => {
      await unlessAborted(refuseSecondAgent(path), signal);
      await recordAgentProcess(path);
      await rename(unnamed, path);
    };
    await withFileLock(join(dirname(path), 'start.lock'), systemClock, takeName, { signal });
    const groupServers = await serveGroup(shared, (group) =>
      httpServer(controlRoutes(context, { actions, logger: logger.child({ group: group.name }) }), {
        faults,
        maxConnections,
      }),
    );
    return socketOf(server, { groupServers, actions, shared });
  } catch (error) {
    server.close();
    throw error;
  }
}

/** A separate server, so that members of the group cannot exhaust root's connections. */
async function serveGroup(
  shared: ControlSocketDeps['shared'],
  newServer: (group: ControlGroup) => Server,
): Promise<Server[]> {
  if (shared === undefined) return [];
  const { path, group } = shared;
  removeGroupSocket(path);
  if (group === undefined) return [];
  const server = newServer(group);
  try {
    await listenForGroup(server, path, group);
  } catch (error) {
    server.close();
    throw error;
  }
  return [server];
}

function socketOf(
  server: Server,
  rest: { groupServers: readonly Server[]; actions: ActionLog; shared: ControlSocketDeps['shared'] },
): ControlSocket {
  const { groupServers, actions, shared } = rest;
  const servers = [...groupServers, server];
  for (const one of servers) one.unref();
  return {
    server,
    close: async () => {
      if (shared !== undefined) removeGroupSocket(shared.path);
      for (const one of servers) {
        one.closeAllConnections();
        one.close();
      }
      await actions.written();
    },
  };
}

function refuseLongPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= maxSocketPathBytes) return;
  const limit = `${path} has ${bytes} bytes, but the kernel accepts ${maxSocketPathBytes}`;
  throw new UserError(`the path of the control socket is too long: ${limit}`, { hint: 'Choose a shorter --root-dir.' });
}

async function refuseSecondAgent(path: string): Promise<void> {
  const other = await fetchAgent(path).catch((error: unknown) => {
    if (!(error instanceof AgentSilentError)) throw error;
    throw new UserError(`kubelet-ts already runs on this root-dir: ${error.message}`, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
    });
  });
  if (other === undefined) return;
  throw new UserError(`kubelet-ts already runs on this root-dir (pid ${other.pid})`, {
    hint:
      'Show it: kubelet-ts ui. Add pods to it: kubelet-ts apply -f FILE. ' +
      'Run a job next to it: kubelet-ts run-once --isolated FILE. Or use another --root-dir.',
  });
}
