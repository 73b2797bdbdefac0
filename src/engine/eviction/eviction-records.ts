import { join } from 'node:path';
import pLimit from 'p-limit';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';
import type { Eviction } from './eviction-manager.ts';

interface Deps {
  podDir: (uid: string) => string;
  logger: Logger;
}

const fileName = 'eviction.json';
/** Far more than a message needs. */
const maxFileBytes = 16 * 1024;
/** How many files are read at a time. */
const maxReads = 16;

/**
 * The evictions of an earlier agent. Each is stored in its pod's folder and is removed with it, before the pod starts
 * again. The kubelet reads them from its API server, as pods in the phase Failed.
 *
 * INVARIANTS: a file is complete or absent. If it is absent, the pod may start until the pressure is noticed again.
 * This class creates no folders.
 */
export class EvictionRecords {
  private readonly earlier = new Map<string, Eviction>();

  constructor(private readonly deps: Deps) {}

  /** Loads the evictions of these pods. Skips files that are missing or damaged. */
  async load(uids: readonly string[]): Promise<void> {
    const limit = pLimit(maxReads);
    await Promise.all(uids.map((uid) => limit(() => this.read(uid))));
  }

  /** Returns on its first call how an earlier agent evicted this pod. Returns undefined otherwise. */
  take(uid: string): Eviction | undefined {
    const eviction = this.earlier.get(uid);
    this.drop(uid);
    return eviction;
  }

  /** Drops the eviction of a pod whose folder was removed. */
  drop(uid: string): void {
    this.earlier.delete(uid);
  }

  /** Stores an eviction. Never rejects, because the disk may be full. */
  async write(uid: string, eviction: Eviction): Promise<void> {
    try {
      await writeRecordFile(this.pathOf(uid), JSON.stringify(eviction), { isDurable: false });
    } catch (error) {
      this.deps.logger.warn(
        { podUID: uid, err: errorMessage(error) },
        'Writing the eviction of a pod failed; a restart of the agent may start the pod too early',
      );
    }
  }

  private async read(uid: string): Promise<void> {
    try {
      const eviction = await readRecordFile(this.pathOf(uid), maxFileBytes, parseEviction, this.deps.logger);
      if (eviction !== undefined) this.earlier.set(uid, eviction);
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading the eviction of a pod failed');
    }
  }

  private pathOf(uid: string): string {
    return join(this.deps.podDir(uid), fileName);
  }
}

/** Returns undefined if the bytes are not an eviction. */
function parseEviction(bytes: Buffer): Eviction | undefined {
  const { message, gracePeriodSeconds } = Object(JSON.parse(bytes.toString('utf8'))) as Record<keyof Eviction, unknown>;
  const isEviction = typeof message === 'string' && typeof gracePeriodSeconds === 'number';
  return isEviction ? { message, gracePeriodSeconds } : undefined;
}
