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
  /** UIDs of the pods that have a folder below the root-dir. */
  podUIDs: () => Promise<string[]>;
  clock: Clock;
  /** Ends the waits for pods of others. */
  signal: AbortSignal;
}

/** What others have in a runtime that is shared. */
export interface ForeignPods {
  /** Who has a pod of this UID in the runtime, in words; undefined: nobody else, as far as the last listing shows. */
  holderOf(uid: string): string | undefined;
  /** From now on it is looked every two seconds whether the UID is free; who listens to `onFreed` is told. */
  awaitFreeing(uid: string): void;
  onFreed(listener: () => void): void;
  /** Of all owners. */
  listAllContainers: RuntimeService['listContainers'];
}

/** Between two looks whether a UID is free that a pod of ours waits for. */
const lookAgainMs = 2000;

/**
 * A runtime with the pods of one root-dir: its sandboxes carry the owner, and those of others, with their containers, are
 * not listed. Nothing of them is ever seen, and so nothing of them is counted, stopped or removed.
 *
 * What carries no owner is a pod of a kubelet, or of a release of ours that wrote none: it is ours when it was made before
 * the root-dir had an identity and has a folder there.
 *
 * INVARIANT: who owns a sandbox is decided once.
 */
export class OwnedRuntime implements ForeignPods {
  /** The runtime as this owner sees it. */
  readonly runtime: RuntimeService;
  readonly listAllContainers: RuntimeService['listContainers'];
  private readonly deps: Deps;
  /** By id of the sandbox: whether it is ours. */
  private readonly verdicts = new Map<string, boolean>();
  /** By id of the sandbox: what others have. */
  private readonly foreign = new Map<string, { uid: string; owner: string | undefined }>();
  /** By owner: where the root-dir is. */
  private readonly rootDirs = new Map<string, string>();
  private readonly listeners: (() => void)[] = [];
  /** UIDs that pods of ours wait for. */
  private readonly awaited = new Set<string>();
  private listing: Promise<unknown> = Promise.resolve();
  private isLookDue = false;

  constructor(deps: Deps) {
    this.deps = deps;
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
        return { ...listed, items: listed.items.filter(({ id }) => this.verdicts.get(id) === true) };
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
    if (found.owner === undefined) return 'a kubelet, or a release of kubelet-ts that did not say whose its pods are';
    const rootDir = this.rootDirs.get(found.owner);
    return rootDir === undefined ? 'another kubelet-ts' : `the kubelet-ts of --root-dir ${rootDir}`;
  }

  awaitFreeing(uid: string): void {
    this.awaited.add(uid);
    this.lookSoon();
  }

  onFreed(listener: () => void): void {
    this.listeners.push(listener);
  }

  private readonly runPodSandbox: RuntimeService['runPodSandbox'] = async (request, options) => {
    const { runtime, owner } = this.deps;
    const { config } = request ?? {};
    const uid = config?.metadata?.uid ?? '';
    if (this.holderOf(uid) !== undefined) await this.refuseTaken(uid, options);
    try {
      const made = await runtime.runPodSandbox(
        config ? { ...request, config: withOwner(config, owner.id) } : request,
        options,
      );
      this.verdicts.set(made.podSandboxId, true);
      return made;
    } catch (error) {
      // Two who ask at the same moment: the runtime refuses the second, whose words are of names that are reserved.
      if (options?.signal?.aborted !== true) await this.refuseTaken(uid, options);
      throw error;
    }
  };

  /** Rejects when somebody else has a pod of this UID now. */
  private async refuseTaken(uid: string, options: CallOptions | undefined): Promise<void> {
    await this.list(byUID(uid), options);
    const holder = this.holderOf(uid);
    if (holder !== undefined) throw new Error(takenMessage(uid, holder));
  }

  private readonly list: RuntimeService['listPodSandbox'] = async (request, options) => {
    const listing = this.deps.runtime.listPodSandbox(request, options).then(async (listed) => {
      await this.judge(listed.items);
      this.forget(request?.filter, listed.items);
      await this.findRootDirs(options);
      return listed;
    });
    this.listing = listing.catch(() => undefined);
    return listing;
  };

  private async judge(sandboxes: readonly PodSandbox[]): Promise<void> {
    const { owner, podUIDs } = this.deps;
    const unknown = sandboxes.filter(({ id }) => !this.verdicts.has(id));
    const mayBeEarlier = ({ annotations, createdAt }: PodSandbox): boolean =>
      ownerOf(annotations) === undefined && createdAt < BigInt(owner.since) * 1_000_000n;
    const withFolder = new Set(unknown.some(mayBeEarlier) ? await podUIDs() : []);
    for (const sandbox of unknown) {
      const { id, annotations, metadata } = sandbox;
      const uid = metadata?.uid ?? '';
      const isOurs = ownerOf(annotations) === owner.id || (mayBeEarlier(sandbox) && withFolder.has(uid));
      this.verdicts.set(id, isOurs);
      if (!isOurs) this.foreign.set(id, { uid, owner: ownerOf(annotations) });
    }
  }

  /** What a listing of all, or of all of one pod, does not have is gone. */
  private forget(filter: Filter | undefined, listed: readonly PodSandbox[]): void {
    const { id = '', state, labelSelector = {} } = filter ?? {};
    const { [criLabels.podUID]: uid, ...others } = labelSelector;
    if (id !== '' || state !== undefined || Object.keys(others).length > 0) return;
    const present = new Set(listed.map((sandbox) => sandbox.id));
    for (const [sandboxID, sandbox] of this.foreign) {
      if (!present.has(sandboxID) && (uid === undefined || sandbox.uid === uid)) this.foreign.delete(sandboxID);
    }
    if (uid === undefined)
      for (const known of this.verdicts.keys()) if (!present.has(known)) this.verdicts.delete(known);
    this.tellFreed();
  }

  private tellFreed(): void {
    const taken = new Set([...this.foreign.values()].map(({ uid }) => uid));
    const freed = [...this.awaited].filter((uid) => !taken.has(uid));
    for (const uid of freed) this.awaited.delete(uid);
    if (freed.length > 0) for (const listener of this.listeners) listener();
  }

  private lookSoon(): void {
    const { clock, signal } = this.deps;
    if (this.isLookDue || signal.aborted) return;
    this.isLookDue = true;
    const cancel = clock.after(lookAgainMs, () => {
      signal.removeEventListener('abort', cancel);
      this.isLookDue = false;
      void this.lookAgain();
    });
    signal.addEventListener('abort', cancel, { once: true });
  }

  private async lookAgain(): Promise<void> {
    const { signal } = this.deps;
    // A runtime that does not answer is asked again.
    await Promise.allSettled([...this.awaited].map((uid) => this.list(byUID(uid), { signal })));
    if (this.awaited.size > 0) this.lookSoon();
  }

  /** Containers say nothing of their owner but by their sandbox. */
  private async ours(containers: readonly Container[], options: CallOptions | undefined): Promise<Container[]> {
    const isUnknown = ({ podSandboxId }: Container): boolean => !this.verdicts.has(podSandboxId);
    if (containers.some(isUnknown)) await this.listing;
    if (containers.some(isUnknown)) await this.list({}, options);
    // The sandbox is gone; the container is going, or it was lost.
    const withFolder = new Set(containers.some(isUnknown) ? await this.deps.podUIDs() : []);
    return containers.filter(
      ({ podSandboxId, labels }) => this.verdicts.get(podSandboxId) ?? withFolder.has(labels[criLabels.podUID] ?? ''),
    );
  }

  /** Of owners that nobody named yet. */
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

/** Why a pod does not start. */
export function takenMessage(uid: string, holder: string): string {
  return `UID ${uid} is that of a pod of ${holder}; this pod starts when that one is removed`;
}

/** The owner of sandboxes whose containers have files below this root-dir. */
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

/** Every container has mounts from the folder of its pod: its termination message, or its hosts file. */
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
