import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { hasCode, isOutOfResources } from '../../../errors.ts';
import type { Logger } from '../../../logger.ts';
import { replaceFile, syncFolder } from '../../../write-file-atomic.ts';
import type { SourceName } from '../../../api/values/config-annotations.ts';
import { readRegularFile } from '../../host/regular-file.ts';
import { decodeLastGood, encodeLastGood, type LastGood, maxLastGoodBytes } from './last-good-format.ts';
import { makeFolder } from '../../../make-folder.ts';

interface Deps {
  rootDir: string;
  clock: Clock;
  logger: Logger;
}

/** What the disk shall hold of one origin; undefined: nothing. */
type Wanted = LastGood | undefined;

/**
 * The newest good manifest of every origin, kept on disk for the times when the origin is broken or away:
 * `<root-dir>/manifests-last-good/`, one file an origin, readable by its owner alone.
 *
 * INVARIANTS: the name of a file tells its origin and its content, so that nothing is written, and nothing read, for a
 * manifest that did not change; a new file is complete before the one it replaces goes; a disk that is full or
 * read-only is said once and holds nobody up: what could not be written is tried again with the next change and at
 * `retry`. A folder that cannot be listed is listed again when it is needed next, and nothing in it is removed
 * meanwhile.
 */
export class LastGoodManifests {
  private readonly deps: Deps;
  private readonly folder: string;
  /** Names of files by key; read from the disk when it is needed first. */
  private names: Promise<Map<string, string[]>> | undefined;
  /** Names of files that turned out not to be whole. */
  private readonly spoiled = new Set<string>();
  private readonly wanted = new Map<string, Wanted>();
  /** Keys that `retain` keeps, by source, until the names of all others are known. */
  private readonly retained = new Map<SourceName, ReadonlySet<string>>();
  private writing: Promise<void> | undefined;
  /** Writing failed the last time. */
  private failed = false;

  constructor(deps: Deps) {
    this.deps = deps;
    this.folder = lastGoodFolder(deps.rootDir);
  }

  /**
   * The newest good manifest of an origin; undefined when there is none, or none that is whole. Rejects with the error
   * of the file system when that cannot be known now, and may be asked again.
   */
  async load(source: SourceName, where: string): Promise<LastGood | undefined> {
    return this.newest(keyOf(source, where), await this.readNames());
  }

  /** What is kept for all origins of a source, in no order. Rejects as `load` does. */
  async list(source: SourceName): Promise<LastGood[]> {
    const names = await this.readNames();
    const found: LastGood[] = [];
    // One after the other: a thousand of them are asked for only while a disk is away, and that is no time for hurry.
    for (const key of new Set([...names.keys(), ...this.wanted.keys()])) {
      const newest = key.startsWith(`${source}-`) ? await this.newest(key, names) : undefined;
      if (newest !== undefined) found.push(newest);
    }
    return found;
  }

  /**
   * Keeps a manifest that was read and is good. Never rejects; resolves when everything that is to be written is
   * written, or could not be. `more`: see LastGood.
   */
  save(source: SourceName, where: string, body: Uint8Array, more: Pick<LastGood, 'fetched'> = {}): Promise<void> {
    return this.want(keyOf(source, where), { source, where, body, savedAt: this.deps.clock.now(), ...more });
  }

  /** Drops what is kept for an origin that is gone for good. Never rejects. */
  forget(source: SourceName, where: string): Promise<void> {
    return this.want(keyOf(source, where), undefined);
  }

  /** Drops what is kept for all origins of a source but these. Never rejects. */
  async retain(source: SourceName, wheres: Iterable<string>): Promise<void> {
    this.retained.set(source, new Set([...wheres].map((where) => keyOf(source, where))));
    try {
      this.dropOthers(await this.readNames());
    } catch {
      // `retry` reads them again, and logs why it cannot.
    }
    await this.retry();
  }

  /**
   * Drops what is kept for every origin, as its pods are torn down; it is gone from the disk when this resolves. Of a
   * signed manifest the time of its signature stays, so that nobody can serve an older one. Rejects with the error of
   * the file system.
   */
  async forgetAll(): Promise<void> {
    const names = await this.readNames();
    for (const key of [...names.keys()]) {
      const kept = await this.newest(key, names);
      await this.replace(key, kept?.fetched?.signature === undefined ? undefined : { ...kept, tornDown: true });
    }
    await syncFolder(this.folder);
  }

  /** Writes what could not be written before. Never rejects. */
  retry(): Promise<void> {
    if (this.wanted.size + this.retained.size === 0) return Promise.resolve();
    this.writing ??= this.write();
    return this.writing;
  }

  private want(key: string, wanted: Wanted): Promise<void> {
    // At the end, where a write that is under way comes by.
    this.wanted.delete(key);
    this.wanted.set(key, wanted);
    return this.retry();
  }

  /** One at a time: nobody waits for it, and the disk may be slow. */
  private async write(): Promise<void> {
    try {
      this.dropOthers(await this.readNames());
      for (const [key, wanted] of this.wanted) {
        await this.replace(key, wanted);
        // It may have changed meanwhile.
        if (this.wanted.get(key) === wanted) this.wanted.delete(key);
        this.failed = false;
      }
    } catch (error) {
      this.sayFailure(error);
    } finally {
      // At once: what is asked for from now on is not in this round any more.
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
    const name = wanted === undefined ? undefined : `${key}-${contentHash(wanted)}`;
    if (name !== undefined && wanted !== undefined && (!before.includes(name) || this.spoiled.has(name))) {
      await this.put(name, encodeLastGood(wanted));
      names.set(key, [...before, name]);
    }
    for (const other of before) if (other !== name) await rm(join(this.folder, other), { force: true });
    if (name === undefined) names.delete(key);
    else names.set(key, [name]);
  }

  private async put(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(this.folder, name);
    try {
      await replaceFile(path, bytes);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      await makeFolder(this.folder, 0o700);
      await replaceFile(path, bytes);
    }
    this.spoiled.delete(name);
  }

  private async newest(key: string, names: ReadonlyMap<string, string[]>): Promise<LastGood | undefined> {
    // What is not written yet counts as well.
    if (this.wanted.has(key)) return this.wanted.get(key);
    // A crash may have left the one that was replaced beside the one that replaces it.
    const entries = await Promise.all((names.get(key) ?? []).map((name) => this.read(name)));
    return entries.reduce((a, b) => ((b?.savedAt ?? -1) > (a?.savedAt ?? -1) ? b : a), undefined);
  }

  private async read(name: string): Promise<LastGood | undefined> {
    const path = join(this.folder, name);
    try {
      return decodeLastGood(await readRegularFile(path, maxLastGoodBytes));
    } catch (error) {
      // Nothing is wrong with the file.
      if (isOutOfResources(error)) throw error;
      this.spoiled.add(name);
      this.deps.logger.warn({ err: error, path }, 'A saved manifest cannot be used');
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
    const byKey = new Map<string, string[]>();
    for (const name of await this.folderContent()) {
      const key = /^([a-z]+-[0-9a-f]{32})-[0-9a-f]{32}$/.exec(name)?.[1];
      if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), name]);
      // What a crash left of a write.
      else if (name.endsWith('.tmp')) await rm(join(this.folder, name), { force: true }).catch(() => undefined);
    }
    return byKey;
  }

  private async folderContent(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      if (!hasCode(error, 'ENOTDIR')) throw error;
      // Something else has its name, so there are none.
      this.deps.logger.warn({ err: error, path: this.folder }, 'Saved manifests cannot be read');
      return [];
    }
  }

  private sayFailure(error: unknown): void {
    if (!this.failed) {
      this.deps.logger.warn({ err: error, path: this.folder }, 'Manifests cannot be saved for the next start');
    }
    this.failed = true;
  }
}

/** Where the manifests of an agent are kept. */
export function lastGoodFolder(rootDir: string): string {
  return join(rootDir, 'manifests-last-good');
}

const keyOf = (source: SourceName, where: string): string => `${source}-${hashOf(where)}`;

/** Of everything but the time: a manifest that is read again is the one that is kept. */
const contentHash = (entry: LastGood): string => hashOf(encodeLastGood({ ...entry, savedAt: 0 }));

const hashOf = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 32);
