import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Pod } from '../../api/types.ts';
import { hasCode, UserError } from '../../errors.ts';
import { writeFileAtomic } from '../../write-file-atomic.ts';
import { readRegularFile } from '../host/regular-file.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import type { PodDirs } from '../host/pod-dirs.ts';

type SecurityContext = NonNullable<NonNullable<PodSandboxConfig['linux']>['securityContext']>;
/** What the runtime is asked for, for the user namespace of a pod. */
export type UserNamespace = NonNullable<NonNullable<SecurityContext['namespaceOptions']>['usernsOptions']>;

/** Ids that a pod gets, and what every range begins at a multiple of. kubelet: userns/userns_manager.go userNsLength */
const userNamespaceLength = 65_536;
/** The node's own ids are never given away. */
const firstHostID = userNamespaceLength;
const endOfHostIDs = 2 ** 32;
const fileName = 'userns';
/** Far more than two ranges take. */
const maxFileBytes = 16 * 1024;

interface Deps {
  podDirs: PodDirs;
  /** What the runtime said of its default handler. */
  isSupported: () => boolean;
}

/** What the file of a pod says, in the kubelet's form. */
interface StoredMapping {
  hostId: number;
  containerId: number;
  length: number;
}

/**
 * Gives pods with `hostUsers: false` a range of ids of their own. Each is kept in the folder of its pod, so that it lasts as
 * long as the pod and a restart finds it; nothing is kept in memory.
 *
 * kubelet: userns/userns_manager.go GetOrCreateUserNamespaceMappings
 */
export class UserNamespaces {
  private readonly deps: Deps;
  /** Two pods at a time would find the same range free. */
  private readonly allocations = pLimit(1);

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** The user namespace of a pod; the folder of the pod exists. Throws a `UserError` when it cannot have one. */
  async getOrCreate({ metadata: { uid }, spec }: Pick<Pod, 'metadata' | 'spec'>): Promise<UserNamespace> {
    if (spec.hostUsers !== false) return { mode: 'NODE', uids: [], gids: [] };
    if (!this.deps.isSupported()) {
      throw new UserError('spec.hostUsers: the container runtime does not support user namespaces');
    }
    const hostID = await this.allocations(async () => (await this.stored(uid)) ?? (await this.allocate(uid)));
    const mapping = [{ hostId: hostID, containerId: 0, length: userNamespaceLength }];
    return { mode: 'POD', uids: mapping, gids: mapping };
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

  /** Where the ids of a pod begin on the host; undefined: it has none of its own. */
  private async stored(uid: string): Promise<number | undefined> {
    const path = join(this.deps.podDirs.podDir(uid), fileName);
    try {
      return hostIDOf((await readRegularFile(path, maxFileBytes)).toString('utf8'), path);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    }
  }
}

/** The lowest range that no pod has; undefined when all are taken. */
function firstFreeRange(taken: ReadonlySet<number>): number | undefined {
  for (let hostID = firstHostID; hostID < endOfHostIDs; hostID += userNamespaceLength) {
    if (!taken.has(hostID)) return hostID;
  }
  return undefined;
}

/** A range that is misread could be given to two pods, so that a broken file is an error. */
function hostIDOf(text: string, path: string): number {
  const hostID = readHostID(text);
  if (hostID !== undefined && hostID >= firstHostID && hostID % userNamespaceLength === 0) return hostID;
  throw new UserError(`${path} does not say which ids the pod has`, { hint: 'Remove the pod, then the file.' });
}

function readHostID(text: string): number | undefined {
  try {
    // Whatever it is, only a number comes out of it.
    const { uidMappings } = JSON.parse(text) as { uidMappings?: Partial<StoredMapping>[] };
    const hostID: unknown = uidMappings?.[0]?.hostId;
    return typeof hostID === 'number' ? hostID : undefined;
  } catch {
    // No JSON, or of another form.
    return undefined;
  }
}
