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

/** How many ids a pod gets. Every range begins at a multiple of this. kubelet: userns/userns_manager.go userNsLength */
const userNamespaceLength = 65_536;
/** The node's own ids are never allocated. */
const firstHostID = userNamespaceLength;
const endOfHostIDs = 2 ** 32;
const fileName = 'userns';
/** Far more than two ranges need. */
const maxFileBytes = 16 * 1024;

/** The user namespace of a pod that uses the ids of the node. */
export const nodeUserNamespace: UserNamespace = { mode: 'NODE', uids: [], gids: [] };

/** Returns the user namespace of a pod whose ids begin at `hostID` on the node. */
export function podUserNamespace(hostID = firstHostID): UserNamespace {
  const mapping = [{ hostId: hostID, containerId: 0, length: userNamespaceLength }];
  return { mode: 'POD', uids: mapping, gids: mapping };
}

interface Deps {
  podDirs: PodDirs;
  /** True if the runtime reports support for its default handler. */
  isSupported: () => boolean;
}

/** Content of a pod's file, in the kubelet's format. */
interface StoredMapping {
  hostId: number;
  containerId: number;
  length: number;
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
    const hostID = await this.allocations(async () => (await this.stored(uid)) ?? (await this.allocate(uid)));
    return podUserNamespace(hostID);
  }

  private async allocate(uid: string): Promise<number> {
    const { podDirs } = this.deps;
    const others = await Promise.all((await podDirs.podUIDs()).map((other) => this.stored(other)));
    const hostID = firstFreeRange(new Set(others.filter((other) => other !== undefined)));
    if (hostID === undefined) throw new UserError('spec.hostUsers: every range of ids is in use by a pod');
    const mappings: StoredMapping[] = [{ hostId: hostID, containerId: 0, length: userNamespaceLength }];
    const content = JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
    await writeFileAtomic(join(podDirs.podDir(uid), fileName), content);
    return hostID;
  }

  /** Reads the first host id of a pod. Resolves with undefined if the pod has no range. */
  private async stored(uid: string): Promise<number | undefined> {
    const path = join(this.deps.podDirs.podDir(uid), fileName);
    const bytes = await ifPresent(readRegularFile(path, maxFileBytes), 'ENOTDIR');
    return bytes && hostIDOf(bytes.toString('utf8'), path);
  }
}

/** Returns the lowest free range. Returns undefined if none is free. */
function firstFreeRange(taken: ReadonlySet<number>): number | undefined {
  for (let hostID = firstHostID; hostID < endOfHostIDs; hostID += userNamespaceLength) {
    if (!taken.has(hostID)) return hostID;
  }
  return undefined;
}

/** Throws a `UserError` if the file is broken, because a misread range could be allocated twice. */
function hostIDOf(text: string, path: string): number {
  const hostID = readHostID(text);
  if (hostID !== undefined && hostID >= firstHostID && hostID % userNamespaceLength === 0) return hostID;
  throw new UserError(`${path} does not say which ids the pod has`, { hint: 'Remove the pod, then the file.' });
}

function readHostID(text: string): number | undefined {
  try {
    // Any JSON will do, because the result is used only if it is a number.
    const { uidMappings } = JSON.parse(text) as { uidMappings?: Partial<StoredMapping>[] };
    const hostID: unknown = uidMappings?.[0]?.hostId;
    return typeof hostID === 'number' ? hostID : undefined;
  } catch {
    // It is not JSON, or has a different form.
    return undefined;
  }
}
