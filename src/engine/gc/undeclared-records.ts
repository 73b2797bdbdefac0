import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';

/** `kept`: it keeps running until its removal is confirmed. `removed`: it is being stopped and removed. */
export type UndeclaredState = 'kept' | 'removed';

interface Deps {
  podDir: (uid: string) => string;
  logger: Logger;
}

const fileName = 'undeclared.json';
/** Far more than a state needs. */
const maxFileBytes = 1024;
/** How many files are read at a time. */
const maxReads = 16;

/**
 * What was decided about pods that no manifest declares any more. The decision is stored in the pod's folder and
 * removed with it, so the next agent continues a removal, and asks again about a kept pod.
 *
 * INVARIANTS: a file is complete or absent. If it is absent, the next agent decides again. This class creates no
 * folders.
 */
export class UndeclaredRecords {
  private readonly states = new Map<string, UndeclaredState>();
  private readonly writing = new Map<string, Promise<void>>();

  constructor(private readonly deps: Deps) {}

  /** Loads the records of an earlier agent. Skips files that are missing or damaged. */
  async load(uids: readonly string[]): Promise<void> {
    const limit = pLimit(maxReads);
    await Promise.all(uids.map((uid) => limit(() => this.read(uid))));
  }

  /** Returns undefined for a pod that is declared, or about which nothing was decided. */
  of(uid: string): UndeclaredState | undefined {
    return this.states.get(uid);
  }

  /** Records a decision. */
  record(uid: string, state: UndeclaredState): void {
    if (this.states.get(uid) === state) return;
    this.states.set(uid, state);
    this.change(uid, async () => {
      await writeUndeclared(this.deps.podDir(uid), state);
    });
  }

  /** Records that the pod is declared again. */
  declared(uid: string): void {
    if (!this.states.delete(uid)) return;
    this.change(uid, () => rm(join(this.deps.podDir(uid), fileName), { force: true }));
  }

  /** Drops a pod whose folder is about to be removed. Resolves once no write to it is in progress. */
  async release(uid: string): Promise<void> {
    this.states.delete(uid);
    await this.writing.get(uid);
  }

  /** Resolves once no write is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.writing.values());
  }

  /** Changes the file once earlier changes of it are done. Never rejects, because the disk may be full. */
  private change(uid: string, work: () => Promise<void>): void {
    const changing = (this.writing.get(uid) ?? Promise.resolve())
      .then(work)
      .catch((error: unknown) => {
        const message = 'Recording that a pod is no longer declared failed; the next start decides again';
        this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, message);
      })
      .finally(() => {
        if (this.writing.get(uid) === changing) this.writing.delete(uid);
      });
    this.writing.set(uid, changing);
  }

  private async read(uid: string): Promise<void> {
    try {
      const state = await readUndeclared(this.deps.podDir(uid), this.deps.logger);
      if (state !== undefined) this.states.set(uid, state);
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading whether a pod is kept failed');
    }
  }
}

/**
 * Reads the record in a pod's folder. Resolves with undefined if there is no valid one. With `logger`, which only the
 * agent passes, a damaged record is logged and renamed. Rejects if permission is denied.
 */
export function readUndeclared(podDir: string, logger?: Logger): Promise<UndeclaredState | undefined> {
  return readRecordFile(join(podDir, fileName), maxFileBytes, parseState, logger);
}

/** Writes the record into a pod's folder. Does nothing if the folder is missing. */
export async function writeUndeclared(podDir: string, state: UndeclaredState): Promise<void> {
  await writeRecordFile(join(podDir, fileName), JSON.stringify({ state }), { isDurable: false });
}

function parseState(bytes: Buffer): UndeclaredState | undefined {
  const { state } = Object(JSON.parse(bytes.toString('utf8'))) as { state?: unknown };
  return state === 'kept' || state === 'removed' ? state : undefined;
}
