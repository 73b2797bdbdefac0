import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { removeTree } from './volumes/remove-tree.ts';

/** The folders of pods, `<root-dir>/pods/<uid>`. A pod is ours by its folder. kubelet: kubelet_getters.go getPodDir */
export class PodDirs {
  private readonly folder: string;

  constructor(deps: { rootDir: string }) {
    this.folder = join(deps.rootDir, 'pods');
  }

  /** `<root-dir>/pods/<uid>` */
  podDir(uid: string): string {
    return join(this.folder, uid);
  }

  /** The pods that have a folder: those this agent started and has not removed. */
  async podUIDs(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /** Unmounts and removes everything of the pod. Never deletes through a mount. Absent is fine. */
  async removePodDir(uid: string): Promise<void> {
    await removeTree(this.podDir(uid));
  }
}
