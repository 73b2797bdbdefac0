import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, UserError } from '../../errors.ts';
import { removeTree } from './remove-tree.ts';

/** Stands for bytes that are not UTF-8, so that nothing is found by a name with it. No UID has it. */
const unreadable = '\ufffd';

/** The folders of pods, `<root-dir>/pods/<uid>`. A pod is ours by its folder. kubelet: kubelet_getters.go getPodDir */
export class PodDirs {
  private readonly folder: string;

  constructor(deps: { rootDir: string }) {
    this.folder = join(deps.rootDir, 'pods');
  }

  /** `<root-dir>/pods/<uid>`; throws for a UID that names no folder there. */
  podDir(uid: string): string {
    if (isFileName(uid)) return join(this.folder, uid);
    throw new UserError(`metadata.uid ${JSON.stringify(uid)} is not the name of a folder`, {
      hint: 'Leave metadata.uid out, or write it with letters, digits and "-".',
    });
  }

  /** The pods that have a folder: those this agent started and has not removed. */
  async podUIDs(): Promise<string[]> {
    try {
      return (await readdir(this.folder)).filter((name) => !name.includes(unreadable));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /** Unmounts and removes everything of the pod. Never deletes through a mount. Absent is fine, and so is what cannot be. */
  async removePodDir(uid: string): Promise<void> {
    if (isFileName(uid)) await removeTree(this.podDir(uid));
  }
}

/**
 * True: an entry of a folder can have this name, and it is below the folder. What the runtime or an earlier release calls a
 * pod by may be anything; where there can be nothing of it, there is nothing to make, and nothing to remove.
 */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && Buffer.byteLength(name) <= maxBytes;
}

/** On the file systems of Linux. */
const maxBytes = 255;
