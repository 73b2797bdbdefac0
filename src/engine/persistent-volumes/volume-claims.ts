import type { LabelledNode } from '../../api/values/node-selector.ts';
import type {
  ClaimName,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageLookup,
} from '../../api/values/persistent-volume.ts';
import { UserError } from '../../errors.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { claimFolder, hasClaimFolder, makeClaimFolder } from './claim-folders.ts';
import { ClaimUses } from './claim-uses.ts';
import { computeBinding } from './compute-binding.ts';
import { holderRecord, readHolders } from './volume-holders.ts';

/** A claim with its storage: a declared volume, or the claim's folder if `volume` is undefined. */
export interface BoundClaim {
  claim: PersistentVolumeClaim;
  volume: PersistentVolume | undefined;
  /** Path of the claim's folder. It exists only for a claim without a volume. */
  folder: string;
}

interface Deps {
  rootDir: string;
  storage: StorageLookup;
  node: LabelledNode;
  podDirs: Pick<PodDirs, 'podDir' | 'podUIDs'>;
  /** Set by the agent, which sets damaged records aside. */
  logger?: Pick<Logger, 'warn'>;
}

/**
 * Binds claims to declared volumes or to folders. A claim keeps its volume: the record
 * `<root-dir>/persistent-volumes/<volume>/claim.json` names the claim, like the claimRef in Kubernetes. A claim that
 * has a folder keeps the folder.
 */
export class VolumeClaims {
  readonly uses: ClaimUses;
  private readonly queue = new SerialQueue();
  /** The claims of volumes, by volume name. Undefined until they are read. */
  private holders: Map<string, ClaimName> | undefined;
  /** Claims that had a folder when they were bound, as `<namespace>/<name>`. */
  private readonly withFolder = new Set<string>();
  private readonly waiting = new Set<string>();

  constructor(private readonly deps: Deps) {
    this.uses = new ClaimUses(deps.podDirs, deps.logger);
  }

  /**
   * Binds the claim, and creates its folder if it gets one. Rejects with a `UserError` if no manifest declares the
   * claim, or if nothing fits. kubelet: volumemanager/populator getPVCExtractPV
   */
  bind(name: ClaimName): Promise<BoundClaim> {
    return this.queue.run(async () => {
      this.holders ??= await readHolders(this.deps.rootDir, this.deps.logger);
      this.recordFolder(name, await hasClaimFolder(this.deps.rootDir, name));
      const bound = this.boundClaim(name);
      const { volume } = bound;
      if (volume === undefined) {
        await makeClaimFolder(this.deps.rootDir, name);
        this.recordFolder(name, true);
      } else if (this.holders.get(volume.name) === undefined) await this.recordHolder(volume.name, name);
      return bound;
    });
  }

  /** Returns the result of `bind`, as far as it is known without reading the disk. Throws when `bind` would reject. */
  boundClaim(name: ClaimName): BoundClaim {
    const { storage, node, rootDir } = this.deps;
    const hasFolder = this.withFolder.has(formatClaim(name));
    const claim = storage.claim(name.namespace, name.name);
    if (claim === undefined) {
      throw new UserError(`persistentvolumeclaim "${name.name}" not found`, {
        hint: 'Declare it next to the pod, as a document of kind PersistentVolumeClaim.',
      });
    }
    const volumes = storage.persistentVolumes();
    const binding = computeBinding({ claim, volumes, holders: this.holders ?? new Map(), hasFolder, node });
    if (binding.type === 'unbound') {
      throw new UserError(`persistentvolumeclaim "${name.name}" is not bound: ${binding.because}`);
    }
    const volume = binding.type === 'volume' ? binding.volume : undefined;
    return { claim, volume, folder: claimFolder(rootDir, name) };
  }

  /** True if a declared volume has this class. */
  isClassDeclared(storageClassName: string | undefined): boolean {
    return this.deps.storage.persistentVolumes().some((volume) => volume.storageClassName === storageClassName);
  }

  /**
   * Records that the pod uses the claim. Rejects with a `UserError` if another pod uses it and its access mode is
   * ReadWriteOncePod. scheduler: plugins/volumerestrictions ErrReasonReadWriteOncePodConflict
   */
  use(uid: string, claim: PersistentVolumeClaim): Promise<void> {
    return this.queue.run(async () => {
      const isExclusive = claim.accessModes.includes('ReadWriteOncePod');
      if (isExclusive && (await this.uses.otherUser(uid, claim)) !== undefined) {
        this.waiting.add(uid);
        throw new UserError(
          'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
        );
      }
      this.waiting.delete(uid);
      await this.uses.add(uid, claim);
    });
  }

  /** Returns the pods that waited for a claim of another pod, and clears the list. */
  drainWaiting(): string[] {
    const uids = [...this.waiting];
    this.waiting.clear();
    return uids;
  }

  private recordFolder(claim: ClaimName, hasFolder: boolean): void {
    if (hasFolder) this.withFolder.add(formatClaim(claim));
    else this.withFolder.delete(formatClaim(claim));
  }

  private async recordHolder(volume: string, { namespace, name }: ClaimName): Promise<void> {
    const record = { claimRef: { namespace, name } };
    await writeFileAtomic(holderRecord(this.deps.rootDir, volume), `${JSON.stringify(record)}\n`);
    this.holders?.set(volume, { namespace, name });
  }
}

const formatClaim = ({ namespace, name }: ClaimName): string => `${namespace}/${name}`;
