import { open, rmdir } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';

/** What is done to a cgroup file system, and what a machine may refuse. Reading needs no such door: it is never refused. */
export interface CgroupFiles {
  /** Makes a cgroup and its parents; there already is fine. */
  makeFolder(path: string): Promise<void>;
  /** Writes a value to a file that is there. */
  write(path: string, value: string): Promise<void>;
  /** Removes one cgroup; its files go with it. Rejects with `EBUSY` while something is in it. */
  removeFolder(path: string): Promise<void>;
  /** Ends a process at once; gone already is fine. */
  kill(pid: number): void;
}

export const cgroupFiles: CgroupFiles = {
  async makeFolder(path) {
    await makeFolder(path, 0o755);
  },
  async write(path, value) {
    // Not made when missing: a kernel without the file then says ENOENT, and not that it refuses new files.
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
