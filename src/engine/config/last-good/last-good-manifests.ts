import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode, isOutOfResources } from '../../../errors.ts';
import type { Logger } from '../../../logger.ts';
import { replaceFile, syncFolder } from '../../../files/write-file-atomic.ts';
import type { SourceName } from '../../../api/values/config-annotations.ts';
import { listFolder } from '../../../files/list-folder.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import {
  decodeLastGood,
  encodeLastGood,
  type LastGood,
  maxLastGoodBytes,
  sha256,
  TooLargeToSave,
} from './last-good-format.ts';
import { makeFolder } from '../../../files/make-folder.ts';

interface Deps {
  rootDir: string;
  clock: Clock;
  logger: Logger;
}

/** What the disk should hold for one origin; undefined to delete it. */
type Wanted = LastGood | undefined;

/**
 * The newest good manifest of every origin, saved for when the origin is broken or away. Each origin has one file in
 * `<root-dir>/manifests-last-good/`, readable only by its owner.
 *
 * INVARIANTS: file names contain hashes of origin and content, so unchanged manifests are neither read nor written. A
 * new file is complete before the old one is removed. A full or read-only disk is logged once and does not delay
 * callers. A failed write is retried with the next change and by `retry`. A folder that cannot be listed is listed
 * again when it is next used; until then none of its files are removed. A manifest that is too large to read again is
 * not written: its earlier revision stays, and other manifests are still written.
 */
export class LastGoodManifests {
  private readonly folder: string;
  /** File names by key; read from disk on first use. */
  private names: Promise<Map<string, string[]>> | undefined;
  /** Names of damaged files. */
  private readonly spoiled = new Set<string>();
  private readonly wanted = new Map<string, Wanted>();
  /** Keys of pending `retain` calls by source, until the folder is listed. */
  private readonly retained = new Map<SourceName, ReadonlySet<string>>();
  private writing: Promise<void> | undefined;
  /** True if the last write failed. */
  private failed = false;

  constructor(private readonly deps: Deps) {
    this.folder = lastGoodFolder(deps.rootDir);
  }

  /**
   * Returns the newest good manifest of an origin. Returns undefined if none is saved, or none is intact. Rejects with
   * the file system's error if the folder cannot be read now; a later call may succeed.
   */
  async load(source: SourceName, where: string): Promise<LastGood | undefined> {
    return this.newest(keyOf(source, where), await this.readNames());
  }

  /** Returns the saved manifests of a source, in no particular order. Rejects as `load` does. */
  async list(source: SourceName): Promise<LastGood[]> {
    const names = await this.readNames();
    const found: LastGood[] = [];
    // One after the other, because this runs only at the start and may concern a thousand files.
    for (const key of new Set([...names.keys(), ...this.wanted.keys()])) {
      const newest = key.startsWith(`${source}-`) ? await this.newest(key, names) : undefined;
      if (newest !== undefined) found.push(newest);
    }
    return found;
  }

  /**
   * Saves a good manifest. Resolves after all pending writes succeeded or failed. Never rejects. `more`: see LastGood.
   */
  save(source: SourceName, where: string, body: Uint8Array, more: Pick<LastGood, 'fetched'> = {}): Promise<void> {
    return this.want(keyOf(source, where), { source, where, body, savedAt: this.deps.clock.now(), ...more });
  }

  /**
   * Flushes the newest manifest of an origin to disk, so that it survives a power cut. Returns false if that failed.
   * Never rejects.
   */
  async isDurable(source: SourceName, where: string): Promise<boolean> {
    await this.retry();
    if (this.wanted.has(keyOf(source, where))) return false;
    // Flushes the file names too.
    return syncFolder(this.folder).then(
      () => true,
      () => false,
    );
  }

  /** Deletes the saved manifest of a removed origin. Never rejects. */
  remove(source: SourceName, where: string): Promise<void> {
    return this.want(keyOf(source, where), undefined);
  }

  /** Deletes the saved manifests of all other origins of a source. Never rejects. */
  retain(source: SourceName, wheres: Iterable<string>): Promise<void> {
    this.retained.set(source, new Set([...wheres].map((where) => keyOf(source, where))));
    return this.retry();
  }

  /**
   * Deletes the saved manifests of all origins after their pods were torn down. Resolves once they are deleted from the
   * disk. A signed manifest is kept and marked as torn down, so that no older one is accepted later. Rejects with the
   * file system's error.
   */
  async removeAll(): Promise<void> {
    const names = await this.readNames();
    for (const key of [...names.keys()]) {
      const kept = await this.newest(key, names);
      await this.replace(key, kept !== undefined && isSigned(kept) ? { ...kept, tornDown: true } : undefined);
    }
    await syncFolder(this.folder);
  }

  /** Retries failed writes. Never rejects. */
  retry(): Promise<void> {
    if (this.wanted.size + this.retained.size === 0) return Promise.resolve();
    this.writing ??= this.write();
    return this.writing;
  }

  private want(key: string, wanted: Wanted): Promise<void> {
    // Moves the key to the end, so that a write in progress still reaches it.
    this.wanted.delete(key);
    this.wanted.set(key, wanted);
    return this.retry();
  }

  /** Writes one file at a time, because no caller waits and the disk may be slow. */
  private async write(): Promise<void> {
    try {
      const names = await this.readNames();
      this.dropOthers(names);
      let tooLarge: TooLargeToSave | undefined;
      for (const [key, wanted] of this.wanted) {
        try {
          await this.replace(key, wanted);
        } catch (error) {
          if (!(error instanceof TooLargeToSave)) throw error;
          tooLarge = error;
          continue;
        }
        // It may have changed during the write.
        if (this.wanted.get(key) === wanted) this.wanted.delete(key);
        this.failed = false;
        this.dropOthers(names);
      }
      if (tooLarge !== undefined) throw tooLarge;
    } catch (error) {
      const message = 'Manifests cannot be saved for the next start';
      if (!this.failed) this.deps.logger.warn({ err: error, path: this.folder }, message);
      this.failed = true;
    } finally {
      // At once, because later changes need a new round.
      this.writing = undefined;
    }
  }

  private dropOthers(names: ReadonlyMap<string, string[]>): void {
    for (const [source, kept] of this.retained) {
      for (const key of names.keys()) {
        if (key.startsWith(`${source}-`) && !kept.has(key) && !this.wanted.has(key)) this.wanted.set(key, undefined);
      }
    }
    this.retained.clear();
  }

  private async replace(key: string, wanted: Wanted): Promise<void> {
    const names = await this.readNames();
    const before = names.get(key) ?? [];
    const name = wanted && `${key}-${contentHash(wanted)}`;
    if (wanted !== undefined && name !== undefined && (!before.includes(name) || this.spoiled.has(name))) {
      await makeFolder(this.folder, 0o700);
      await replaceFile(join(this.folder, name), encodeLastGood(wanted));
      this.spoiled.delete(name);
      names.set(key, [...before, name]);
    }
    for (const other of before) if (other !== name) await rm(join(this.folder, other), { force: true });
    if (name === undefined) names.delete(key);
    else names.set(key, [name]);
  }

  private async newest(key: string, names: ReadonlyMap<string, string[]>): Promise<LastGood | undefined> {
    // A pending write counts as written.
    if (this.wanted.has(key)) return this.wanted.get(key);
    // A crash may have left both the old and the new file.
    return newestOf(await Promise.all((names.get(key) ?? []).map((name) => this.read(name))));
  }

  private async read(name: string): Promise<LastGood | undefined> {
    const path = join(this.folder, name);
    try {
      return await readEntry(path);
    } catch (error) {
      // The file itself may still be intact.
      if (isOutOfResources(error)) throw error;
      this.spoiled.add(name);
      this.deps.logger.warn({ err: errorMessage(error), path }, 'A saved manifest cannot be used');
      return undefined;
    }
  }

  private readNames(): Promise<Map<string, string[]>> {
    this.names ??= this.listFolder().catch((error: unknown) => {
      this.names = undefined;
      throw error;
    });
    return this.names;
  }

  private async listFolder(): Promise<Map<string, string[]>> {
    const names = await listFolder(this.folder).catch((error: unknown) => {
      if (!hasCode(error, 'ENOTDIR')) throw error;
      // The path is not a folder, so no manifests are saved.
      this.deps.logger.warn({ err: error, path: this.folder }, 'Saved manifests cannot be read');
      return [];
    });
    for (const name of names) {
      // A crash during a write left it.
      if (name.endsWith('.tmp')) await rm(join(this.folder, name), { force: true }).catch(() => undefined);
    }
    return byKey(names);
  }
}

/**
 * Returns the newest good manifest of every origin, for programs that run next to the agent. Writes nothing, and skips
 * files that the agent is writing. Omits torn-down manifests. Rejects if the folder cannot be read.
 */
export async function readLastGood(rootDir: string): Promise<LastGood[]> {
  const folder = lastGoodFolder(rootDir);
  // On an error the file was just replaced, or it is damaged. The agent logs damaged files when it needs them.
  const read = (name: string): Promise<LastGood | undefined> => readEntry(join(folder, name)).catch(() => undefined);
  const origins = [...byKey(await listFolder(folder)).values()];
  const newest = await Promise.all(origins.map(async (names) => newestOf(await Promise.all(names.map(read)))));
  return newest.flatMap((entry) => (entry === undefined || entry.tornDown === true ? [] : [entry]));
}

/** Returns the folder where an agent saves manifests. */
export function lastGoodFolder(rootDir: string): string {
  return join(rootDir, 'manifests-last-good');
}

const keyOf = (source: SourceName, where: string): string => `${source}-${hashOf(where)}`;

/** Returns the hash of everything except `savedAt`, so that reading the same manifest again changes nothing. */
const contentHash = (entry: LastGood): string => hashOf(encodeLastGood({ ...entry, savedAt: 0 }));

const hashOf = (content: string | Uint8Array): string => sha256(content).slice(0, 32);

/** Groups the names of saved manifests by key. */
function byKey(names: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of names.toSorted()) {
    const key = /^([a-z]+-[0-9a-f]{32})-[0-9a-f]{32}$/.exec(name)?.[1];
    if (key !== undefined) found.set(key, [...(found.get(key) ?? []), name]);
  }
  return found;
}

async function readEntry(path: string): Promise<LastGood> {
  return decodeLastGood(await readRegularFile(path, maxLastGoodBytes));
}

function newestOf(entries: readonly (LastGood | undefined)[]): LastGood | undefined {
  return entries.reduce((a, b) => ((b?.savedAt ?? -1) > (a?.savedAt ?? -1) ? b : a), undefined);
}

/** True if a signature of this manifest was ever accepted. */
function isSigned({ fetched = {} }: LastGood): boolean {
  return fetched.signature !== undefined || fetched.signedAt !== undefined;
}
