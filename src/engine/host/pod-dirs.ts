import { join } from 'node:path';
import { UserError } from '../../errors.ts';
import { listFolder } from '../../files/list-folder.ts';
import { removeTree } from './remove-tree.ts';

/** The replacement character for bytes that are not UTF-8. No UID contains it, so names that do are ignored. */
const unreadable = '\ufffd';

/**
 * The pod folders, `<root-dir>/pods/<uid>`. A pod that has a folder here is ours. kubelet: kubelet_getters.go getPodDir
 */
export class PodDirs {
  private readonly folder: string;

  constructor(deps: { rootDir: string }) {
    this.folder = join(deps.rootDir, 'pods');
  }

  /** `<root-dir>/pods/<uid>`. Throws a `UserError` if the UID is not a valid file name. */
  podDir(uid: string): string {
    if (isFileName(uid)) return join(this.folder, uid);
    throw new UserError(`metadata.uid ${JSON.stringify(uid)} is not the name of a folder`, {
      hint: 'Leave metadata.uid out, or write it with letters, digits and "-".',
    });
  }

  /** Lists the UIDs of the pods that have a folder: the agent started them and has not removed them. */
  async podUIDs(): Promise<string[]> {
    return (await listFolder(this.folder)).filter((name) => !name.includes(unreadable));
  }

  /**
   * Unmounts and removes the pod's folder. Never deletes through a mount. Does nothing if the folder does not exist.
   */
  async removePodDir(uid: string): Promise<void> {
    if (isFileName(uid)) await removeTree(this.podDir(uid));
  }
}

/**
 * True if this is a valid file name. Runtimes and earlier releases may pass any pod UID. A UID that is not a file name
 * has no folder, so nothing is created or removed for it.
 */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && Buffer.byteLength(name) <= maxBytes;
}

/** Longest file name on Linux. */
const maxBytes = 255;
