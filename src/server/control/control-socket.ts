import { chmod, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { dirname, join } from 'node:path';
import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { exclusively } from '../../exclusively.ts';
import type { Faults } from '../../flow/faults.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../make-folder.ts';
import { httpServer, listening } from '../http-server.ts';
import { ChangeFeed } from './change-feed.ts';
import { Refusal } from './control-answer.ts';
import { AgentSilentError, noteAgentProcess } from './control-call.ts';
import { fetchAgent } from './control-client.ts';
import type { ControlCall, ControlContext, ControlledEngine } from './control-route.ts';
import { controlRoutes } from './control-routes.ts';
import { UnreadAnswers } from './unread-answers.ts';

/** Longest path of a socket, in bytes, without its final NUL. */
const maxSocketPathBytes = 107;
/** Limit on unread bytes of all clients: a few snapshots of a node with many pods. */
const maxUnreadBytes = 4 * 1024 * 1024;

interface ControlSocketDeps extends Pick<ControlContext, 'applied' | 'metrics' | 'view' | 'shutdown'> {
  /** Aborted if the socket is no longer needed. */
  signal?: AbortSignal;
  /** The unbounded wait before the engine can be built, if there is one. */
  waitsFor: () => string | undefined;
  /** The current step of a slow start. Returns undefined if there is none. */
  starts?: (() => string | undefined) | undefined;
  faults: Pick<Faults, 'note'>;
  logger: Logger;
}

/**
 * Serves the engine on a socket that only its owner may open. `control-routes.ts` lists the routes.
 *
 * Requests that need the engine wait until it is built. During an unbounded wait they are refused, unless the client
 * asked to wait. The socket is also the lock of the root-dir: rejects if an agent answers on it.
 */
export async function serveControlSocket(
  path: string,
  { waitsFor, starts, faults, logger, signal = new AbortController().signal, ...deps }: ControlSocketDeps,
): Promise<Server> {
  if (Buffer.byteLength(path) > maxSocketPathBytes) {
    throw new UserError(`the path of the control socket is too long: ${path}`, {
      hint: 'Choose a shorter --root-dir.',
    });
  }
  const engineFor = ({ query }: ControlCall): Promise<ControlledEngine> => {
    const [reason, starting] = [waitsFor(), starts?.()];
    if (query.has('wait')) return deps.view;
    if (reason !== undefined) throw new Refusal(503, reason);
    if (starting !== undefined) throw new Refusal(202, starting);
    return deps.view;
  };
  const unread = new UnreadAnswers({ maxBytes: maxUnreadBytes, clock: systemClock });
  const changes = new ChangeFeed({ clock: systemClock, unread });
  const server = httpServer(controlRoutes({ ...deps, engineFor, unread, changes }, logger), { faults });
  await makeFolder(dirname(path), 0o700);
  // Binds under another name, sets the mode and renames, so that no other user can open the socket in between.
  const unnamed = `${path}.${process.pid}`;
  await rm(unnamed, { force: true });
  await listening(server, { path: unnamed });
  await chmod(unnamed, 0o600);
  try {
    // Under a lock, so that of two agents that start at once only one takes the name.
    const takeName = async (): Promise<void> => {
      await unlessAborted(refuseSecondAgent(path), signal);
      await noteAgentProcess(path);
      await rename(unnamed, path);
    };
    await exclusively(join(dirname(path), 'start.lock'), systemClock, takeName, { signal });
  } catch (error) {
    server.close();
    throw error;
  }
  server.unref();
  return server;
}

async function refuseSecondAgent(path: string): Promise<void> {
  const other = await fetchAgent(path).catch((error: unknown) => {
    if (!(error instanceof AgentSilentError)) throw error;
    throw new UserError(`kubelet-ts runs already on this root-dir: ${error.message}`, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
    });
  });
  if (other === undefined) return;
  throw new UserError(`kubelet-ts runs already on this root-dir (pid ${other.pid})`, {
    hint: 'Stop it first, or give this one another --root-dir.',
  });
}
