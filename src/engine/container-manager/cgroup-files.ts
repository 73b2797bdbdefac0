import { open, rmdir } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * The operations on a cgroup file system that a machine may refuse. It never refuses reads, so they are not part of
 * this interface.
 */
export interface CgroupFiles {
  /** Creates a cgroup and its parents. Does nothing if it exists. */
  makeFolder(path: string): Promise<void>;
  /** Writes a value to an existing file. */
  write(path: string, value: string): Promise<void>;
  /** Removes one cgroup with its files. Rejects with `EBUSY` unless it is empty. */
  removeFolder(path: string): Promise<void>;
  /** Kills a process. Does nothing if it has exited. */
  kill(pid: number): void;
}

export const cgroupFiles: CgroupFiles = {
  async makeFolder(path) {
    await makeFolder(path, 0o755);
  },
  async write(path, value) {
    // This mode does not create the file, so a missing one is reported as ENOENT.
    const file = await open(path, 'r+');
    try {
      await file.write(value);
    } finally {
      await file.close();
    }
  },
  removeFolder: (path) => rmdir(path),
  kill(pid) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (!hasCode(error, 'ESRCH')) throw error;
    }
  },
};
