import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import type { Pod } from '../../api/types.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode, isOutOfResources, RequestRefused } from '../../errors.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { declaredOrRefused, type EphemeralRequest } from '../operations/operation.ts';
import type { PodWorkerState } from '../view/pod-worker-state.ts';
import { entriesText, type EphemeralEntry, parseEntries, settleEntries } from './ephemeral-entry.ts';
import { newEphemeralContainer } from './new-ephemeral-container.ts';

interface Deps {
  podDir: (uid: string) => string;
  /** Returns the pod of this name that runs or should run. Returns undefined if none is declared. */
  declaredPod: (pod: PodName) => Pod | undefined;
  isStopped: (pod: Pod) => boolean;
  workerState: (uid: string) => PodWorkerState;
  syncPod: (uid: string) => void;
  clock: Pick<Clock, 'now' | 'after'>;
  logger: Logger;
}

const fileName = 'ephemeral-containers.json';
/** More than the longest list needs: each container is a request of at most 64 KiB. */
const maxFileBytes = 8 * 1024 * 1024;
/** How many files are read at a time. */
const maxReads = 16;

/**
 * The ephemeral containers that operators added to running pods. Their list is stored in the pod's folder and is
 * removed with it. The kubelet gets them from its API server, and refuses them to static pods.
 *
 * INVARIANTS: a container is recorded on disk before it starts, and its record is deleted after the runtime removed it.
 * A file is complete or absent. This class creates no folders.
 */
export class EphemeralContainers {
  private readonly entries = new Map<string, readonly EphemeralEntry[]>();
  private readonly effectivePods = new WeakMap<Pod, { entries: readonly EphemeralEntry[]; pod: Pod }>();
  /** By pod UID, the function that cancels the timer of a container that will be removed soon. */
  private readonly timers = new Map<string, () => void>();
  private readonly changes = new SerialQueue();

  constructor(private readonly deps: Deps) {}

  /** Loads the lists of these pods from an earlier agent. If a file is not a list, it is renamed and logged. */
  async load(uids: readonly string[]): Promise<void> {
    const limit = pLimit(maxReads);
    await Promise.all(uids.map((uid) => limit(() => this.read(uid))));
  }

  /** Returns the pod with its ephemeral containers in its spec, as the kubelet gets it from an API server. */
  effective(pod: Pod): Pod {
    const entries = this.entries.get(pod.metadata.uid);
    if (entries === undefined) return pod;
    const known = this.effectivePods.get(pod);
    if (known?.entries === entries) return known.pod;
    const ephemeralContainers = entries.filter(({ isRemoved }) => isRemoved !== true).map(({ container }) => container);
    const effective = ephemeralContainers.length === 0 ? pod : { ...pod, spec: { ...pod.spec, ephemeralContainers } };
    this.effectivePods.set(pod, { entries, pod: effective });
    return effective;
  }

  /**
   * Compares the list with the runtime before a sync of the pod. Resolves with the names of containers to stop and
   * remove. Never rejects, because the disk may be full.
   */
  async settle(uid: string, podStatus: RuntimePodStatus): Promise<string[]> {
    const known = this.entries.get(uid);
    if (known === undefined) return [];
    const { entries, removals, dueInMs } = settleEntries(known, podStatus, this.deps.clock.now());
    this.syncAfter(uid, dueInMs);
    if (entries !== known) {
      await this.changes
        .run(async () => {
          // An operator may have added one in the meantime. The next sync settles again.
          if (this.entries.get(uid) !== known) return;
          this.keep(uid, entries);
          await this.write(uid, entries, false);
        })
        .catch((error: unknown) => {
          const facts = { podUID: uid, err: errorMessage(error) };
          this.deps.logger.warn(facts, 'Writing the ephemeral containers of a pod failed');
        });
    }
    return removals;
  }

  /** Adds a container to a running pod. Resolves once it is on disk, otherwise rejects with a `RequestRefused`. */
  add(name: PodName, { json, removesAtEnd }: EphemeralRequest): Promise<string> {
    return this.changes.run(async () => {
      const pod = this.fit(name);
      const { uid } = pod.metadata;
      const known = this.entries.get(uid) ?? [];
      // Names of containers that are being removed count too.
      const spec = { ...pod.spec, ephemeralContainers: known.map(({ container }) => container) };
      const container = newEphemeralContainer({ ...pod, spec }, json);
      await this.ask(pod, [...known, { container, ...(removesAtEnd && { removesAtEnd: true }) }]);
      if (this.deps.declaredPod(name)?.metadata.uid !== uid || this.whyNotRunning(pod) !== undefined) {
        this.keep(uid, known);
        // If this fails too, the next agent starts the refused container.
        await this.write(uid, known, true).catch(() => undefined);
        throw new RequestRefused('conflict', `pod ${pod.metadata.name} ended meanwhile`);
      }
      this.deps.syncPod(uid);
      return container.name;
    });
  }

  /**
   * Requests the removal of a container. Resolves once the request is on disk, otherwise rejects with a
   * `RequestRefused`.
   */
  remove(name: PodName, containerName: string): Promise<string> {
    return this.changes.run(async () => {
      const pod = declaredOrRefused(name, this.deps.declaredPod);
      const { uid } = pod.metadata;
      const known = this.entries.get(uid) ?? [];
      if (!known.some(({ container }) => container.name === containerName)) {
        const message = `pod ${pod.metadata.name} has no ephemeral container ${containerName}`;
        throw new RequestRefused('missing', message, `kubelet-ts describe ${pod.metadata.name} lists them.`);
      }
      await this.ask(
        pod,
        known.map((entry) => (entry.container.name === containerName ? { ...entry, isRemoved: true } : entry)),
      );
      this.deps.syncPod(uid);
      return `container ${containerName} of pod ${pod.metadata.name} is removed`;
    });
  }

  /** Drops the containers of a pod whose folder was removed. */
  drop(uid: string): void {
    this.entries.delete(uid);
    this.syncAfter(uid, undefined);
  }

  stop(): void {
    for (const uid of [...this.timers.keys()]) this.syncAfter(uid, undefined);
  }

  /** Replaces the timer of this pod. */
  private syncAfter(uid: string, ms: number | undefined): void {
    this.timers.get(uid)?.();
    this.timers.delete(uid);
    if (ms === undefined) return;
    const cancel = this.deps.clock.after(ms, () => {
      this.timers.delete(uid);
      this.deps.syncPod(uid);
    });
    this.timers.set(uid, cancel);
  }

  private fit(name: PodName): Pod {
    const pod = declaredOrRefused(name, this.deps.declaredPod);
    const because = this.whyNotRunning(pod);
    if (because !== undefined) throw new RequestRefused('conflict', `pod ${pod.metadata.name} ${because}`);
    return pod;
  }

  /** Returns undefined if the pod accepts ephemeral containers now. */
  private whyNotRunning(pod: Pod): string | undefined {
    if (this.deps.isStopped(pod)) return 'is stopped';
    const state = this.deps.workerState(pod.metadata.uid);
    switch (state) {
      case 'sync':
        return undefined;
      case 'waiting':
        return 'has not started';
      case 'finished':
        return 'has ended';
      case 'terminating':
      case 'terminated':
        return 'is terminating';
    }
  }

  /** Writes the list, and uses it once it would survive a power cut. */
  private async ask({ metadata: { uid, name } }: Pod, entries: readonly EphemeralEntry[]): Promise<void> {
    try {
      await this.write(uid, entries, true);
    } catch (error) {
      const because = hasCode(error, 'ENOENT', 'ENOTDIR')
        ? 'the pod has not started'
        : `it cannot be written: ${errorMessage(error)}`;
      throw new RequestRefused('conflict', `nothing was done to pod ${name}, because ${because}`);
    }
    this.keep(uid, entries);
  }

  private keep(uid: string, entries: readonly EphemeralEntry[]): void {
    if (entries.length === 0) this.entries.delete(uid);
    else this.entries.set(uid, entries);
  }

  private async write(uid: string, entries: readonly EphemeralEntry[], isDurable: boolean): Promise<void> {
    const path = this.pathOf(uid);
    if (entries.length === 0) await rm(path, { force: true });
    else await replaceFile(path, Buffer.from(entriesText(entries)), { isDurable });
    if (isDurable) await syncFolder(dirname(path));
  }

  private async read(uid: string): Promise<void> {
    const path = this.pathOf(uid);
    try {
      this.keep(uid, parseEntries((await readRegularFile(path, maxFileBytes)).toString('utf8')));
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return;
      if (isOutOfResources(error)) throw error;
      const aside = `${path}.malformed`;
      await rename(path, aside).catch(() => undefined);
      const message = 'The ephemeral containers of a pod cannot be read; running ones stop with their pod';
      this.deps.logger.warn({ podUID: uid, path: aside, err: errorMessage(error) }, message);
    }
  }

  private pathOf(uid: string): string {
    return join(this.deps.podDir(uid), fileName);
  }
}
