import { join } from 'node:path';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { listFolder } from '../../files/list-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import type { Logger } from '../../logger.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { readRecordFile } from '../host/record-file.ts';

/** How a pod mounts a claim, recorded once it was ready. */
export interface ClaimMount {
  hostPath: string;
  readOnly: boolean;
  managed: boolean;
  /** True if the path is usable only while something is mounted on it. */
  isMountPoint: boolean;
}

/** Folder of these records in a pod's `plugins`. */
export const claimRecords = 'kubernetes.io~claim';

const maxRecordBytes = 64 * 1024;

/**
 * The claims that pods use, recorded in the pods' folders: `plugins/kubernetes.io~claim/<namespace>/<claim>`. So the
 * records are removed with the pods, even if we crash.
 */
export class ClaimUses {
  constructor(
    private readonly podDirs: Pick<PodDirs, 'podDir' | 'podUIDs'>,
    private readonly logger: Pick<Logger, 'warn'> | undefined,
  ) {}

  /** Records that the pod uses the claim. Call this before mounting it. */
  async add(uid: string, claim: ClaimName): Promise<void> {
    await makeFolder(this.recordOf(uid, claim), 0o750);
  }

  /** Finds the UID of another pod that uses the claim. Resolves with undefined if there is none. */
  async otherUser(uid: string, claim: ClaimName): Promise<string | undefined> {
    for (const other of await this.podDirs.podUIDs()) {
      if (other !== uid && (await pathExists(this.recordOf(other, claim)))) return other;
    }
    return undefined;
  }

  /** Records that the pod has mounted the claim. */
  async setReady(uid: string, claim: ClaimName, mount: ClaimMount): Promise<void> {
    await writeFileAtomic(this.readyFile(uid, claim), JSON.stringify(mount));
  }

  /**
   * Reads how the pod has mounted the claim. Resolves with undefined if it has not, or if the record is damaged, which
   * the agent logs.
   */
  readyMount(uid: string, claim: ClaimName): Promise<ClaimMount | undefined> {
    return readRecordFile(this.readyFile(uid, claim), maxRecordBytes, parseClaimMount, this.logger);
  }

  /** Lists the recorded claims of a pod, sorted. */
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
    return join(this.podDirs.podDir(uid), 'plugins', claimRecords);
  }

  private recordOf(uid: string, { namespace, name }: ClaimName): string {
    return join(this.folderOf(uid), namespace, name);
  }

  private readyFile(uid: string, claim: ClaimName): string {
    return join(this.recordOf(uid, claim), 'ready');
  }
}

function parseClaimMount(bytes: Buffer): ClaimMount | undefined {
  const value: unknown = JSON.parse(bytes.toString('utf8'));
  return isClaimMount(value) ? value : undefined;
}

function isClaimMount(value: unknown): value is ClaimMount {
  const { hostPath, readOnly, managed, isMountPoint } = Object(value) as Partial<Record<keyof ClaimMount, unknown>>;
  return typeof hostPath === 'string' && [readOnly, managed, isMountPoint].every((flag) => typeof flag === 'boolean');
}
