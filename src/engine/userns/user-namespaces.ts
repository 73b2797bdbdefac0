import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import type { PodDirs } from '../host/pod-dirs.ts';

type SecurityContext = NonNullable<NonNullable<PodSandboxConfig['linux']>['securityContext']>;
/** A pod's user namespace in a CRI request. */
export type UserNamespace = NonNullable<NonNullable<SecurityContext['namespaceOptions']>['usernsOptions']>;

/** The ids of the node that pods may get. All three are multiples of `userNamespaceLength`. */
export interface UserNamespaceIDs {
  first: number;
  end: number;
  /** How many a pod gets. kubelet: userNamespaces.idsPerPod */
  length: number;
}

/** How many ids a pod gets by default. Every range begins at a multiple of this. */
export const userNamespaceLength = 65_536;
const fileName = 'userns';
/** Far more than two ranges need. */
const maxFileBytes = 16 * 1024;

/** The user namespace of a pod that uses the ids of the node. */
export const nodeUserNamespace: UserNamespace = { mode: 'NODE', uids: [], gids: [] };

/** Returns the user namespace of a pod whose ids begin at `hostId` on the node. */
export function podUserNamespace({ hostId, length }: IDRange): UserNamespace {
  const mapping = [{ hostId, containerId: 0, length }];
  return { mode: 'POD', uids: mapping, gids: mapping };
}

interface IDRange {
  hostId: number;
  length: number;
}

interface Deps {
  podDirs: PodDirs;
  ids: UserNamespaceIDs;
  /** True if the runtime reports support for its default handler. */
  isSupported: () => boolean;
}

/** Content of a pod's file, in the kubelet's format. */
interface StoredMapping extends IDRange {
  containerId: number;
}

/**
 * Allocates a range of ids to each pod with `hostUsers: false`. A file in the pod's folder records it, so the agent
 * finds it after a restart, and it is freed with the pod. Nothing is kept in memory.
 *
 * kubelet: userns/userns_manager.go GetOrCreateUserNamespaceMappings
 */
export class UserNamespaces {
  /** One runs at a time, because otherwise two pods could find the same range free. */
  private readonly allocations = pLimit(1);

  constructor(private readonly deps: Deps) {}

  /**
   * Returns the user namespace of a pod, whose folder must exist. Rejects with a `UserError` if the pod cannot have
   * one.
   */
  async getOrCreate({ metadata: { uid }, spec }: Pick<Pod, 'metadata' | 'spec'>): Promise<UserNamespace> {
    if (spec.hostUsers !== false) return nodeUserNamespace;
    if (!this.deps.isSupported()) {
      throw new UserError('spec.hostUsers: the container runtime does not support user namespaces');
    }
    return podUserNamespace(await this.allocations(async () => (await this.stored(uid)) ?? (await this.allocate(uid))));
  }

  private async allocate(uid: string): Promise<IDRange> {
    const { podDirs, ids } = this.deps;
    const others = await Promise.all((await podDirs.podUIDs()).map((other) => this.stored(other)));
    const range = firstFreeRange(
      ids,
      others.filter((other) => other !== undefined),
    );
    if (range === undefined) throw new UserError('spec.hostUsers: every range of ids is in use by a pod');
    const mappings: StoredMapping[] = [{ ...range, containerId: 0 }];
    const content = JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
    await writeFileAtomic(join(podDirs.podDir(uid), fileName), content);
    return range;
  }

  /** Reads the range of a pod, of an earlier `idsPerPod` if that changed. Resolves with undefined if it has none. */
  private async stored(uid: string): Promise<IDRange | undefined> {
    const path = join(this.deps.podDirs.podDir(uid), fileName);
    const bytes = await ifPresent(readRegularFile(path, maxFileBytes), 'ENOTDIR');
    return bytes && rangeOf(bytes.toString('utf8'), path);
  }
}

/** Returns the lowest free range. Returns undefined if none is free. */
function firstFreeRange({ first, end, length }: UserNamespaceIDs, taken: readonly IDRange[]): IDRange | undefined {
  for (let hostId = first; hostId < end; hostId += length) {
    if (!taken.some((other) => other.hostId < hostId + length && hostId < other.hostId + other.length)) {
      return { hostId, length };
    }
  }
  return undefined;
}

/** Throws a `UserError` if the file is broken, because a misread range could be allocated twice. */
function rangeOf(text: string, path: string): IDRange {
  const { hostId, length } = readMapping(text) ?? {};
  if (isRangeBound(hostId) && isRangeBound(length)) return { hostId, length };
  throw new UserError(`${path} does not say which ids the pod has`, { hint: 'Remove the pod, then the file.' });
}

function isRangeBound(value: unknown): value is number {
  return typeof value === 'number' && value >= userNamespaceLength && value % userNamespaceLength === 0;
}

function readMapping(text: string): { hostId?: unknown; length?: unknown } | undefined {
  try {
    // Any JSON will do, because the result is used only if it holds numbers.
    const { uidMappings } = JSON.parse(text) as { uidMappings?: Partial<StoredMapping>[] };
    return uidMappings?.[0];
  } catch {
    // It is not JSON, or has a different form.
    return undefined;
  }
}
