import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Container, Pod, PodSpec } from '../../api/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import { findContainer, initAndRegularContainers } from '../../api/values/containers.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';
import { computePodChange, type PodChange } from './compute-pod-change.ts';
import type { Meter } from '../view/meter.ts';
import { followsPod, isResized, requestedResizes } from './container-resize.ts';
import { type AppliedRevision, decodeRevision, encodeRevision } from './revision-file.ts';

interface Deps {
  podDir: (uid: string) => string;
  policy: InPlacePolicy;
  meter?: Pick<Meter, 'count'> | undefined;
  logger: Logger;
}

interface Kept extends AppliedRevision {
  /** True if the file has this revision. */
  isWritten: boolean;
  /** Why the last resize of the pod failed. */
  resizeError?: string;
}

const fileName = 'revision.json';
/** More than the largest manifest. */
const maxFileBytes = 16 * 1024 * 1024;
/** How many files are read at a time. */
const maxReads = 16;

/**
 * The revision that each pod runs, and which containers still have the resources of an earlier one. It is stored in the
 * pod's folder and removed with it. So the next agent knows the revision, even if this one is killed at any moment.
 *
 * INVARIANTS: a revision is on disk before any of it is applied in place. A file is complete or absent. If it is
 * absent, the next change replaces the pod. This class creates no folders.
 */
export class AppliedRevisions {
  private readonly kept = new Map<string, Kept>();
  private readonly writing = new Map<string, Promise<void>>();
  private isFailing = false;

  constructor(private readonly deps: Deps) {}

  /** Loads the revisions of an earlier agent. Skips files that are missing or damaged. */
  async load(uids: readonly string[]): Promise<void> {
    const limit = pLimit(maxReads);
    await Promise.all(uids.map((uid) => limit(() => this.read(uid))));
  }

  /** Returns the revision that the pod runs. Returns undefined if it is unknown. */
  of(uid: string): Pod | undefined {
    return this.kept.get(uid)?.pod;
  }

  /** Returns the known revisions of all pods. */
  pods(): Pod[] {
    return Array.from(this.kept.values(), ({ pod }) => pod);
  }

  /** Returns the known revisions of pods of this name. */
  named({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): Pod[] {
    const found: Pod[] = [];
    for (const { pod } of this.kept.values()) {
      if (pod.metadata.name === name && pod.metadata.namespace === namespace) found.push(pod);
    }
    return found;
  }

  /** Returns by container id the resources of containers that still have those of an earlier revision. */
  outdated(uid: string): Readonly<Record<string, Container['resources']>> {
    return this.kept.get(uid)?.outdated ?? {};
  }

  /** Returns the resources of the whole pod that its cgroup still has from an earlier revision. */
  outdatedPod(uid: string): PodSpec['resources'] | undefined {
    return this.kept.get(uid)?.outdatedPod;
  }

  /** True while the pod or its containers do not have the resources of its revision yet. */
  isResizing(uid: string): boolean {
    return this.kept.get(uid)?.isResizing ?? false;
  }

  /**
   * Makes this the revision that the pod runs. Its worker calls this before each sync, when no container is being
   * created. Resolves with the change from the earlier revision.
   */
  async accept(pod: Pod, podStatus: RuntimePodStatus): Promise<PodChange> {
    const { uid } = pod.metadata;
    const known = this.kept.get(uid);
    if (known === undefined) {
      this.keep(uid, { pod, outdated: {}, isResizing: false });
      // Nothing depends on the file until the manifest changes.
      void this.write(uid, false);
      return { kind: 'none' };
    }
    if (known.pod === pod && known.isWritten) return { kind: 'none' };
    const change = computePodChange(known.pod, pod, this.deps.policy);
    const isPodResized = change.kind === 'inPlace' && change.isPodResized;
    const isResize = isPodResized || (change.kind === 'inPlace' && change.resize.length > 0);
    const outdated = isResize ? outdatedAfter(known, pod, podStatus) : known.outdated;
    const outdatedPod = known.outdatedPod ?? (isPodResized ? known.pod.spec.resources : undefined);
    if (isResize) this.countResizes(known.pod, pod);
    const isResizing = known.isResizing || isResize;
    const next = { pod, outdated, isResizing, ...(outdatedPod !== undefined && { outdatedPod }) };
    const isSame = known.isWritten && textOf(known) === textOf(next);
    this.keep(uid, next, isSame);
    if (!isSame) await this.write(uid, change.kind === 'inPlace');
    return change;
  }

  private countResizes({ spec }: Pod, next: Pod): void {
    for (const container of initAndRegularContainers(next.spec)) {
      for (const labels of requestedResizes(findContainer(spec, container.name) ?? container, container))
        this.deps.meter?.count('kubelet_container_requested_resizes_total', labels);
    }
  }

  /** Records that this container has the resources of the pod's revision. */
  containerResized(uid: string, containerID: string): void {
    const kept = this.kept.get(uid);
    if (kept !== undefined) kept.outdated = without(kept.outdated, containerID);
  }

  /** Records that all resources are those of the revision. */
  async resized(uid: string): Promise<void> {
    const kept = this.kept.get(uid);
    if (kept?.isResizing !== true) return;
    this.keep(uid, { pod: kept.pod, outdated: {}, isResizing: false });
    await this.write(uid, false);
  }

  /** Records why a resize failed, until the next attempt. Undefined if it did not. */
  resizeEnded(uid: string, error: string | undefined): void {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    if (error === undefined) delete kept.resizeError;
    else kept.resizeError = error;
  }

  /** Why the last resize of the pod failed. Undefined if it did not. */
  resizeError(uid: string): string | undefined {
    return this.kept.get(uid)?.resizeError;
  }

  /** Drops a pod that starts over. */
  drop(uid: string): void {
    this.kept.delete(uid);
  }

  /** Drops the pod before its folder is removed. Resolves once no write to it is in progress. */
  async release(uid: string): Promise<void> {
    this.drop(uid);
    await this.writing.get(uid);
  }

  /** Resolves once no write is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.writing.values());
  }

  private keep(uid: string, revision: AppliedRevision, isWritten = false): void {
    this.kept.set(uid, { ...revision, isWritten });
  }

  /** Writes the file once earlier writes of it are done. Never rejects. `isDurable`: it survives a power cut. */
  private write(uid: string, isDurable: boolean): Promise<void> {
    const writing = (this.writing.get(uid) ?? Promise.resolve())
      .then(() => this.writeNow(uid, isDurable))
      .finally(() => {
        if (this.writing.get(uid) === writing) this.writing.delete(uid);
      });
    this.writing.set(uid, writing);
    return writing;
  }

  private async writeNow(uid: string, isDurable: boolean): Promise<void> {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    const path = join(this.deps.podDir(uid), fileName);
    try {
      if (!(await writeRecordFile(path, encodeRevision(storedPart(kept)), { isDurable }))) return;
      kept.isWritten = true;
      this.isFailing = false;
    } catch (error) {
      // The next sync tries again.
      const message = 'Writing the revision of a pod failed, a change while no agent runs may replace the pod';
      if (!this.isFailing) this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, message);
      this.isFailing = true;
    }
  }

  private async read(uid: string): Promise<void> {
    try {
      const revision = await readRevision(this.deps.podDir(uid), this.deps.logger);
      if (revision?.pod.metadata.uid === uid && !this.kept.has(uid)) this.keep(uid, revision, true);
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading the revision of a pod failed');
    }
  }
}

/**
 * Reads the revision in a pod's folder. Resolves with undefined if there is no valid one; with `logger`, a damaged one
 * is renamed. Rejects if permission is denied.
 */
export function readRevision(podDir: string, logger?: Logger): Promise<AppliedRevision | undefined> {
  return readRecordFile(join(podDir, fileName), maxFileBytes, decodeRevision, logger);
}

/**
 * Returns the containers that do not have the resources of the next revision. A container without a limit has that of
 * the pod. Keeps those already listed, because the
 * runtime may still be resizing them.
 */
function outdatedAfter(
  { pod: current, outdated }: AppliedRevision,
  next: Pod,
  { containerStatuses }: RuntimePodStatus,
): AppliedRevision['outdated'] {
  const present = containerStatuses.filter(({ state }) => state === 'running' || state === 'created');
  return Object.fromEntries(
    present.flatMap(({ id, name }) => {
      if (id in outdated) return [[id, outdated[id]]];
      const [before, after] = [findContainer(current.spec, name), findContainer(next.spec, name)];
      if (before === undefined || after === undefined) return [];
      const isOutdated = isResized(before, after) || followsPod(after, current.spec, next.spec);
      return isOutdated ? [[id, before.resources ?? {}]] : [];
    }),
  );
}

/**
 * Returns a text for comparing revisions. Leaves out when the pod was first seen, because that differs between agents.
 */
function textOf(revision: AppliedRevision): string {
  const { pod, ...rest } = storedPart(revision);
  const annotations = without(pod.metadata.annotations ?? {}, configAnnotations.seen);
  return JSON.stringify({ ...rest, pod: { ...pod, metadata: { ...pod.metadata, annotations } } });
}

/** Leaves out the status, which is not part of the manifest. */
function storedPart({ pod: { metadata, spec }, outdated, outdatedPod, isResizing }: AppliedRevision): AppliedRevision {
  return { pod: { metadata, spec }, outdated, ...(outdatedPod !== undefined && { outdatedPod }), isResizing };
}

function without<T>(from: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== key));
}
