import { lstat, stat } from 'node:fs/promises';
import { hasCode, UserError } from '../../errors.ts';
import { type CopiedContainer, copyFromContainer, copyToContainer, isFolderIn } from './container-tar.ts';
import type { CopyReport } from './copy-report.ts';
import { type CopyRequest, sourceOf, targetOf } from './parse-endpoints.ts';

/**
 * Copies between this machine and a container. Rejects with a `UserError` if a path is missing or is neither a file nor
 * a folder.
 */
export async function copy(container: CopiedContainer, request: CopyRequest, report: CopyReport): Promise<void> {
  const { podPath, localPath } = request;
  if (request.direction === 'toPod') {
    const source = sourceOf(localPath);
    await lstat(localPath).catch(rethrowMissing(localPath));
    const target = targetOf(source, podPath, await isFolderIn(container, podPath));
    await copyToContainer(container, source, target, report);
    return;
  }
  const source = sourceOf(podPath);
  const target = targetOf(source, localPath, await isLocalFolder(localPath));
  await stat(target.folder).catch(rethrowMissing(target.folder));
  await copyFromContainer(container, source, target, report);
}

/** Rejects with a `UserError` for a device, pipe or socket, which a copy would replace. */
async function isLocalFolder(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    if (found.isDirectory() || found.isFile()) return found.isDirectory();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
  throw new UserError(`${path} is neither a file nor a folder`);
}

const rethrowMissing =
  (path: string) =>
  (error: unknown): never => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) throw new UserError(`${path} does not exist`);
    throw error;
  };
