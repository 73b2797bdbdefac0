import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CallOptions } from '../../cri/service.ts';
import type { Container, PodSandbox } from '../../cri/types.ts';
import type { RootOwner } from '../container/root-owner.ts';
import { criLabels } from '../container/labels.ts';
import { ownerOf, withOwner } from '../container/owner-mark.ts';

interface Deps {
  runtime: RuntimeService;
  owner: RootOwner;
  /** UIDs of pods with a folder below the root-dir. */
  podUIDs: () => Promise<string[]>;
  clock: Clock;
  /** Stops waiting for pods of other owners. */
  signal: AbortSignal;
}

/** Pods of other owners in a shared runtime. */
export interface ForeignPods {
  /** Describes the other owner of a pod with this UID. Returns undefined if the last listing has none. */
  holderOf(uid: string): string | undefined;
  /**
   * Checks every two seconds whether the UID is free, then calls the listeners of `onFreed`. Stops once `isAwaited`
   * returns false.
   */
  awaitFreeing(uid: string, isAwaited: () => boolean): void;
  onFreed(listener: () => void): void;
  /** Lists the containers of all owners. */
  listAllContainers: RuntimeService['listContainers'];
}

/** Interval between checks of the UIDs that pods wait for. */
const checkPeriodMs = 2000;

/**
 * A view of the runtime that contains only the pods of one root-dir. Each sandbox is annotated with its owner.
 * Sandboxes and containers of other owners are not listed, so they are never counted, stopped or removed.
 *
 * A sandbox without an owner was created by a kubelet or an early release of kubelet-ts. It belongs to this agent if it
 * was created before the root-dir had an identity and has a folder there.
 *
 * INVARIANT: the owner of a sandbox is decided once.
 */
export class OwnedRuntime implements ForeignPods {
  /** The runtime, limited to this owner's pods. */
  readonly runtime: RuntimeService;
  readonly listAllContainers: RuntimeService['listContainers'];
  /** By id: true if the sandbox belongs to this owner. */
  private readonly isOurs = new Map<string, boolean>();
  /** Sandboxes of other owners, by id. */
  private readonly foreign = new Map<string, { uid: string; owner: string | undefined }>();
  /** Root-dirs by owner id. */
  private readonly rootDirs = new Map<string, string>();
  private readonly listeners: (() => void)[] = [];
  /** UIDs that pods wait for, with a function that tells whether they still do. */
  private readonly awaited = new Map<string, () => boolean>();
  private listing: Promise<unknown> = Promise.resolve();
  private isCheckScheduled = false;

  constructor(private readonly deps: Deps) {
    const { runtime, owner } = deps;
    this.listAllContainers = runtime.listContainers;
    this.runtime = {
      ...runtime,
      runPodSandbox: (request, options) => this.runPodSandbox(request, options),
      createContainer: (request, options) =>
        runtime.createContainer(
          request?.sandboxConfig ? { ...request, sandboxConfig: withOwner(request.sandboxConfig, owner.id) } : request,
          options,
        ),
      listPodSandbox: async (request, options) => {
        const listed = await this.list(request, options);
        return { ...listed, items: listed.items.filter(({ id }) => this.isOurs.get(id) === true) };
      },
      listContainers: async (request, options) => {
        const listed = await runtime.listContainers(request, options);
        return { ...listed, containers: await this.ours(listed.containers, options) };
      },
    };
  }

  holderOf(uid: string): string | undefined {
    const found = [...this.foreign.values()].find((sandbox) => sandbox.uid === uid);
    if (found === undefined) return undefined;
    if (found.owner === undefined) return 'a kubelet, or a release of kubelet-ts that did not mark its pods';
    const rootDir = this.rootDirs.get(found.owner);
    return rootDir === undefined ? 'another kubelet-ts' : `the kubelet-ts of --root-dir ${rootDir}`;
  }

  awaitFreeing(uid: string, isAwaited: () => boolean): void {
    this.awaited.set(uid, isAwaited);
    this.scheduleCheck();
  }

  onFreed(listener: () => void): void {
    this.listeners.push(listener);
  }

  private readonly runPodSandbox: RuntimeService['runPodSandbox'] = async (request, options) => {
    const { runtime, owner } = this.deps;
    const { config } = request ?? {};
    const uid = config?.metadata?.uid ?? '';
    if (this.holderOf(uid) !== undefined) await this.rejectIfInUse(uid, options);
    try {
      const created = await runtime.runPodSandbox(
        config ? { ...request, config: withOwner(config, owner.id) } : request,
        options,
      );
      this.isOurs.set(created.podSandboxId, true);
      return created;
    } catch (error) {
      // If two owners call at the same moment, the runtime rejects the second with an error about reserved names.
      if (options?.signal?.aborted !== true) await this.rejectIfInUse(uid, options);
      throw error;
    }
  };

  /** Rejects if another owner has a pod with this UID. */
  private async rejectIfInUse(uid: string, options: CallOptions | undefined): Promise<void> {
    await this.list(byUID(uid), options);
    const holder = this.holderOf(uid);
    if (holder !== undefined) throw new Error(uidInUseMessage(uid, holder));
  }

  private readonly list: RuntimeService['listPodSandbox'] = async (request, options) => {
    const listing = this.deps.runtime.listPodSandbox(request, options).then(async (listed) => {
      await this.classify(listed.items);
      this.dropMissing(request?.filter, listed.items);
      await this.findRootDirs(options);
      return listed;
    });
    this.listing = listing.catch(() => undefined);
    return listing;
  };

  private async classify(sandboxes: readonly PodSandbox[]): Promise<void> {
    const { owner, podUIDs } = this.deps;
    const unknown = sandboxes.filter(({ id }) => !this.isOurs.has(id));
    const mayBeEarlier = ({ annotations, createdAt }: PodSandbox): boolean =>
      ownerOf(annotations) === undefined && createdAt < BigInt(owner.since) * 1_000_000n;
    const withFolder = new Set(unknown.some(mayBeEarlier) ? await podUIDs() : []);
    for (const sandbox of unknown) {
      const { id, annotations, metadata } = sandbox;
      const uid = metadata?.uid ?? '';
      const isOurs = ownerOf(annotations) === owner.id || (mayBeEarlier(sandbox) && withFolder.has(uid));
      this.isOurs.set(id, isOurs);
      if (!isOurs) this.foreign.set(id, { uid, owner: ownerOf(annotations) });
    }
  }

  /** Drops sandboxes that are missing in a listing of all pods, or of all sandboxes of one pod. */
  private dropMissing(filter: Filter | undefined, listed: readonly PodSandbox[]): void {
    const { id = '', state, labelSelector = {} } = filter ?? {};
    const { [criLabels.podUID]: uid, ...others } = labelSelector;
    if (id !== '' || state !== undefined || Object.keys(others).length > 0) return;
    const present = new Set(listed.map((sandbox) => sandbox.id));
    for (const [sandboxID, sandbox] of this.foreign) {
      if (!present.has(sandboxID) && (uid === undefined || sandbox.uid === uid)) this.foreign.delete(sandboxID);
    }
    if (uid === undefined) for (const known of this.isOurs.keys()) if (!present.has(known)) this.isOurs.delete(known);
    this.notifyFreed();
  }

  private notifyFreed(): void {
    const taken = new Set([...this.foreign.values()].map(({ uid }) => uid));
    const freed = [...this.awaited.keys()].filter((uid) => !taken.has(uid));
    for (const uid of freed) this.awaited.delete(uid);
    if (freed.length > 0) for (const listener of this.listeners) listener();
  }

  private scheduleCheck(): void {
    const { clock, signal } = this.deps;
    if (this.isCheckScheduled || signal.aborted) return;
    this.isCheckScheduled = true;
    const cancel = clock.after(checkPeriodMs, () => {
      signal.removeEventListener('abort', cancel);
      this.isCheckScheduled = false;
      void this.checkAwaited();
    });
    signal.addEventListener('abort', cancel, { once: true });
  }

  private async checkAwaited(): Promise<void> {
    const { signal } = this.deps;
    for (const [uid, isAwaited] of this.awaited) if (!isAwaited()) this.awaited.delete(uid);
    // If the runtime does not answer, the next check retries.
    await Promise.allSettled([...this.awaited.keys()].map((uid) => this.list(byUID(uid), { signal })));
    if (this.awaited.size > 0) this.scheduleCheck();
  }

  /** Filters the containers of this owner. A container has the owner of its sandbox. */
  private async ours(containers: readonly Container[], options: CallOptions | undefined): Promise<Container[]> {
    const isUnknown = ({ podSandboxId }: Container): boolean => !this.isOurs.has(podSandboxId);
    if (containers.some(isUnknown)) await this.listing;
    if (containers.some(isUnknown)) await this.list({}, options);
    // The sandbox was removed, so the container is being removed or was lost.
    const withFolder = new Set(containers.some(isUnknown) ? await this.deps.podUIDs() : []);
    return containers.filter(
      ({ podSandboxId, labels }) => this.isOurs.get(podSandboxId) ?? withFolder.has(labels[criLabels.podUID] ?? ''),
    );
  }

  /** Finds the root-dirs of owners whose root-dir is unknown. */
  private async findRootDirs(options: CallOptions | undefined): Promise<void> {
    const unnamed = new Map<string, { id: string; uid: string }>();
    for (const [id, { uid, owner }] of this.foreign) {
      if (owner !== undefined && !this.rootDirs.has(owner)) unnamed.set(owner, { id, uid });
    }
    for (const [owner, { id, uid }] of unnamed) {
      const rootDir = await rootDirOf(this.deps.runtime, id, uid, options).catch(() => undefined);
      if (rootDir !== undefined) this.rootDirs.set(owner, rootDir);
    }
  }
}

type Filter = NonNullable<NonNullable<Parameters<RuntimeService['listPodSandbox']>[0]>['filter']>;

const byUID = (uid: string): { filter: Filter } => ({ filter: { labelSelector: { [criLabels.podUID]: uid } } });

/** Explains why a pod with a UID in use does not start. */
export function uidInUseMessage(uid: string, holder: string): string {
  return `UID ${uid} belongs to a pod of ${holder}; this pod starts when that one is removed`;
}

/**
 * Finds the owner id of sandboxes whose containers have files below this root-dir. Resolves with undefined if there is
 * none.
 */
export async function ownerByFiles(runtime: RuntimeService, rootDir: string): Promise<string | undefined> {
  const { items } = await runtime.listPodSandbox({});
  const owners = new Set<string>();
  for (const { id, annotations, metadata } of items) {
    const owner = ownerOf(annotations);
    if (owner === undefined || owners.has(owner)) continue;
    owners.add(owner);
    if ((await rootDirOf(runtime, id, metadata?.uid ?? '', undefined)) === rootDir) return owner;
  }
  return undefined;
}

/**
 * Finds the root-dir from a mount, because every container mounts its termination message or hosts file from its pod's
 * folder.
 */
async function rootDirOf(
  runtime: RuntimeService,
  podSandboxId: string,
  uid: string,
  options: CallOptions | undefined,
): Promise<string | undefined> {
  const { containers } = await runtime.listContainers({ filter: { podSandboxId } }, options);
  const [container] = containers;
  if (container === undefined || uid === '') return undefined;
  const { status } = await runtime.containerStatus({ containerId: container.id }, options);
  const inPod = `/pods/${uid}/`;
  const mount = status?.mounts.find(({ hostPath }) => hostPath.includes(inPod));
  return mount?.hostPath.slice(0, mount.hostPath.indexOf(inPod));
}
