import { join } from 'node:path';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { listFolder } from '../../files/list-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { readRegularFile } from '../../files/regular-file.ts';

/** How a pod mounts a claim, as noted once it was ready. */
export interface ClaimMount {
  hostPath: string;
  readOnly: boolean;
  managed: boolean;
  /** True if the path is only usable while something is mounted on it. */
  isMountPoint: boolean;
}

/** Folder of the notes in `plugins` of a pod. */
export const claimNotes = 'kubernetes.io~claim';

const maxNoteBytes = 64 * 1024;

/**
 * The claims that pods use, noted in the folders of the pods: `plugins/kubernetes.io~claim/<namespace>/<claim>`. So the
 * notes go with the pods, and a crash leaves none of a removed pod.
 */
export class ClaimUses {
  constructor(private readonly podDirs: Pick<PodDirs, 'podDir' | 'podUIDs'>) {}

  /** Notes that the pod uses the claim, before it mounts it. */
  async add(uid: string, claim: ClaimName): Promise<void> {
    await makeFolder(this.noteOf(uid, claim), 0o750);
  }

  /** UID of another pod that uses the claim. Resolves with undefined if there is none. */
  async otherUser(uid: string, claim: ClaimName): Promise<string | undefined> {
    for (const other of await this.podDirs.podUIDs()) {
      if (other !== uid && (await pathExists(this.noteOf(other, claim)))) return other;
    }
    return undefined;
  }

  /** Notes that the pod has mounted the claim. */
  async setReady(uid: string, claim: ClaimName, mount: ClaimMount): Promise<void> {
    await writeFileAtomic(this.readyFile(uid, claim), JSON.stringify(mount));
  }

  /** How the pod has mounted the claim. Resolves with undefined if it has not, or if the note is damaged. */
  async readyMount(uid: string, claim: ClaimName): Promise<ClaimMount | undefined> {
    try {
      const value: unknown = JSON.parse((await readRegularFile(this.readyFile(uid, claim), maxNoteBytes)).toString());
      return isClaimMount(value) ? value : undefined;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** The claims that a pod has noted, sorted. */
  async claimsOf(uid: string): Promise<ClaimName[]> {
    const folder = this.folderOf(uid);
    const found: ClaimName[] = [];
    for (const namespace of (await listFolder(folder)).sort()) {
      const names = await listFolder(join(folder, namespace));
      found.push(...names.sort().map((name) => ({ namespace, name })));
    }
    return found;
  }

  private folderOf(uid: string): string {
    return join(this.podDirs.podDir(uid), 'plugins', claimNotes);
  }

  private noteOf(uid: string, { namespace, name }: ClaimName): string {
    return join(this.folderOf(uid), namespace, name);
  }

  private readyFile(uid: string, claim: ClaimName): string {
    return join(this.noteOf(uid, claim), 'ready');
  }
}

function isClaimMount(value: unknown): value is ClaimMount {
  const { hostPath, readOnly, managed, isMountPoint } = Object(value) as Partial<Record<keyof ClaimMount, unknown>>;
  return typeof hostPath === 'string' && [readOnly, managed, isMountPoint].every((flag) => typeof flag === 'boolean');
}
