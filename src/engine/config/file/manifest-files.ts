import { isDeepStrictEqual } from 'node:util';
import { Claims, claimedKeys, podKeys } from '../../../api/values/claims.ts';
import { configObjectKey } from '../../../api/values/config-object.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { podRef } from '../../../api/values/pod-names.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { isGood, loadManifest } from '../load-manifest.ts';
import type { Revision } from './manifest-file.ts';

interface Deps extends StaticPodNode {
  clock: Clock;
  /** Undefined: nothing is kept for the next life. */
  lastGood?: LastGoodManifests | undefined;
}

type Declared = Pick<Manifests, 'pods' | 'configObjects' | 'dependsOnPlaces'>;

interface ManifestFile {
  /** Of the newest revision that was read; empty: none was, in this life. */
  fingerprint: string;
  declared: Declared;
  /** What is wrong with the newest revision. */
  problems: ManifestProblem[];
  /** The last good revision, and when it was read. */
  lastGood: (Declared & { at: number }) | undefined;
  /** Why a newer revision is not read yet; undefined: there is none. */
  waiting: ManifestProblem | undefined;
}

const unread: ManifestFile = {
  fingerprint: '',
  declared: { pods: [], configObjects: [] },
  problems: [],
  lastGood: undefined,
  waiting: undefined,
};

/**
 * The manifest files that are there, and what each declares. A file is a unit: while it is bad its last good revision
 * stands, as a whole. A file that never was good gives what is good of it.
 *
 * INVARIANTS: of files that declare the same object the one that did so first gives it, and after a restart too;
 * nothing is written over on disk before `save`.
 */
export class ManifestFiles {
  private readonly deps: Deps;
  /** By path, in the order in which they were first seen. */
  private readonly files = new Map<string, ManifestFile>();
  private readonly claims = new Claims<string>();
  private readonly unsaved = new Map<string, Uint8Array>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  get paths(): string[] {
    return [...this.files.keys()];
  }

  has(path: string): boolean {
    return this.files.has(path);
  }

  fingerprint(path: string): string | undefined {
    return this.files.get(path)?.fingerprint;
  }

  declaresAnything(path: string): boolean {
    return claimedKeys((this.files.get(path) ?? unread).declared).length > 0;
  }

  /** When the newest running revision of the files with `isMeant` was read. Returns undefined if none runs. */
  newestGoodAt(isMeant: (path: string) => boolean): number | undefined {
    const times = [...this.files].flatMap(([path, { lastGood }]) => (lastGood && isMeant(path) ? [lastGood.at] : []));
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** The file says this now. */
  async take(path: string, { fingerprint, bytes, problems, ...declared }: Revision): Promise<void> {
    const read = { fingerprint, problems, declared, waiting: undefined };
    if (isGood(read)) {
      if (bytes !== undefined) this.unsaved.set(path, bytes);
      this.set(path, { ...read, lastGood: { ...declared, at: this.deps.clock.now() } });
      return;
    }
    const lastGood = await this.findLastGood(path);
    if (lastGood === undefined) {
      this.set(path, { ...read, lastGood });
      return;
    }
    const { at, pods } = lastGood;
    const message = 'its last good revision stands';
    problems.push({ origin: path, severity: 'error', message, lastGoodAt: at, lastGoodPods: pods.map(podRef) });
    this.set(path, { ...read, declared: lastGood, lastGood });
  }

  /**
   * What the file said before stands, in an earlier life too. `because`: why something newer is not read yet;
   * undefined: there is nothing newer. Returns false if nothing is new.
   */
  async wait(path: string, because?: ManifestProblem): Promise<boolean> {
    const known = this.files.get(path);
    if (known !== undefined && isDeepStrictEqual(known.waiting, because)) return false;
    this.set(path, { ...(known ?? (await this.restored(path))), waiting: because });
    return true;
  }

  /** Takes what an earlier life read, of the files for which `isMeant` is true. */
  async restore(isMeant: (file: string) => boolean): Promise<void> {
    for (const { where } of (await this.deps.lastGood?.list('file')) ?? []) {
      if (isMeant(where) && !this.files.has(where)) this.set(where, await this.restored(where));
    }
  }

  /** The file is gone, and what it declared goes with it. */
  remove(path: string): void {
    this.files.delete(path);
    this.claims.set(path, []);
    this.unsaved.delete(path);
    void this.deps.lastGood?.forget('file', path);
  }

  /** Keeps the good revisions that are not kept yet for the next life. */
  save(): void {
    for (const [path, bytes] of this.unsaved) void this.deps.lastGood?.save('file', path, bytes);
    this.unsaved.clear();
  }

  /** By key, the objects that several files declare: their files, the one that gives it first. */
  contested(): Map<string, readonly string[]> {
    return this.claims.contested();
  }

  /**
   * Of the first list of a life: puts the files that declare one object in the order of the life before.
   * `recorded` is its `contested`. What is not in it goes by which file declared it then, and by name.
   */
  async restoreOrder(recorded: ReadonlyMap<string, readonly string[]>): Promise<void> {
    for (const [key, files] of this.contested()) {
      const ranks = new Map<string, number>();
      for (const file of files) {
        const rank = recorded.get(key)?.indexOf(file) ?? -1;
        ranks.set(file, rank >= 0 ? rank : (await this.declaredBefore(file, key)) ? files.length : files.length + 1);
      }
      this.claims.sort(key, (a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0) || (a < b ? -1 : 1));
    }
  }

  /** All that the files declare, and all that is wrong with them. */
  contents(): Required<Manifests> {
    const contents: Required<Manifests> = { pods: [], configObjects: [], problems: [], dependsOnPlaces: [] };
    const refused = new Map<string, ManifestProblem>();
    for (const [path, { declared, problems, waiting }] of this.files) {
      const isGiven = (keys: readonly string[]): boolean => {
        const key = this.claims.taken(path, keys);
        if (key !== undefined) refused.set(`${path} ${key}`, refusal(path, key, this.claims.owner(key) ?? ''));
        return key === undefined;
      };
      contents.problems.push(...problems, ...(waiting === undefined ? [] : [waiting]));
      contents.dependsOnPlaces.push(...(declared.dependsOnPlaces ?? []));
      for (const pod of declared.pods) if (isGiven(podKeys(pod))) contents.pods.push(pod);
      for (const object of declared.configObjects)
        if (isGiven([configObjectKey(object)])) contents.configObjects.push(object);
    }
    contents.problems.push(...refused.values());
    return contents;
  }

  private set(path: string, file: ManifestFile): void {
    if (this.files.get(path)?.declared !== file.declared) this.claims.set(path, claimedKeys(file.declared));
    this.files.set(path, file);
  }

  private async findLastGood(path: string): Promise<ManifestFile['lastGood']> {
    const known = this.files.get(path)?.lastGood;
    const saved = await this.deps.lastGood?.load('file', path);
    if (known !== undefined) return { ...known, at: saved?.savedAt ?? known.at };
    if (saved === undefined) return undefined;
    const { problems, ...declared } = loadManifest(saved.body, path, this.deps);
    // Another release may find errors where its predecessor found none.
    return isGood({ problems }) ? { ...declared, at: saved.savedAt } : undefined;
  }

  private async restored(path: string): Promise<ManifestFile> {
    const lastGood = await this.findLastGood(path);
    return lastGood === undefined ? unread : { ...unread, declared: lastGood, lastGood };
  }

  private async declaredBefore(path: string, key: string): Promise<boolean> {
    const saved = await this.deps.lastGood?.load('file', path);
    return saved !== undefined && claimedKeys(loadManifest(saved.body, path, this.deps)).includes(key);
  }
}

function refusal(origin: string, key: string, owner: string): ManifestProblem {
  const [, kind = '', name = ''] = /^([^/]*)\/(.*)$/.exec(key) ?? [];
  const isUID = kind === 'UID';
  return {
    origin,
    severity: 'error',
    field: isUID ? 'metadata.uid' : 'metadata.name',
    message: `${kind} ${name} is declared by ${owner} already`,
    hint: isUID ? 'Leave it out, or give one of them another.' : 'Give one of them another name.',
  };
}
