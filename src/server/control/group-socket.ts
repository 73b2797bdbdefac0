import { rmSync } from 'node:fs';
import { chmod, chown, constants, open, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { dirname } from 'node:path';
import { errorMessage, isSystemError, UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { listening } from '../http-server.ts';
import { recordAgentProcess } from './agent-process.ts';
import { unnamedSocketPath } from './socket-paths.ts';

/** A group whose members may use the control API. */
export interface ControlGroup {
  name: string;
  gid: number;
}

/**
 * Listens on a socket that this user and the group may open. Its folder contains only the socket and the name of this
 * process. Rejects with a `UserError` if the folder, or the one above it, is a link or belongs to another user.
 */
export async function listenForGroup(server: Server, path: string, { name, gid }: ControlGroup): Promise<void> {
  const uid = process.getuid?.() ?? 0;
  const folder = dirname(path);
  const unnamed = unnamedSocketPath(path);
  try {
    await claimFolder(dirname(folder), { mode: 0o755, uid, gid: process.getgid?.() ?? 0 });
    await claimFolder(folder, { mode: 0o750, uid, gid });
    await rm(unnamed, { force: true });
    // The group cannot open the socket before its mode is set, because it is created without write permission.
    await listening(server, { path: unnamed });
    await chown(unnamed, uid, gid);
    await chmod(unnamed, 0o660);
    await recordAgentProcess(path);
    await rename(unnamed, path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UserError(`the control socket for the group ${name} cannot be created: ${errorMessage(error)}`, {
      hint: 'Fix that, or start without --control-group.',
      cause: error,
    });
  }
}

/** Removes the socket and its folder, even those that a killed agent left. */
export function removeGroupSocket(path: string): void {
  try {
    rmSync(dirname(path), { recursive: true, force: true });
  } catch {
    // A socket that stays has no agent behind it.
  }
}

/** Creates a folder if it is missing, and sets its group and mode. */
async function claimFolder(
  path: string,
  { mode, uid, gid }: { mode: number; uid: number; gid: number },
): Promise<void> {
  await makeFolder(path, 0o700);
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const { uid: owner } = await folder.stat();
    if (owner !== uid) {
      throw new UserError(`${path} belongs to user ${owner}, so it cannot hold the control socket of a group`, {
        hint: 'Remove it. The next start creates it.',
      });
    }
    await folder.chown(uid, gid);
    await folder.chmod(mode);
  } finally {
    await folder.close();
  }
}
