import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { configObjectKey } from '../../../api/values/config-object.ts';
import type { DependsOnPlace } from '../../../api/values/depends-on.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { podRef } from '../../../api/values/pod-names.ts';
import { claimedKeys, FileClaims, podKeys } from './file-claims.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { isGood, loadManifest } from '../load-manifest.ts';
import type { Revision } from './manifest-file.ts';

interface Deps extends StaticPodNode {
  clock: Clock;
  /** Undefined: nothing is kept for the next life. */
  lastGood: LastGoodManifests | undefined;
}

type Declared = Pick<Manifests, 'pods' | 'configObjects' | 'dependsOnPlaces'>;

/** A good revision, and when it was read. */
interface Good extends Declared {
  at: number;
}

interface ManifestFile {
  /** Of the newest revision that was read; undefined: none was, in this life. */
  fingerprint: string | undefined;
  declared: Declared;
  /** What is wrong with the newest revision. */
  problems: ManifestProblem[];
  lastGood: Good | undefined;
  /** Why a newer revision is not read yet; undefined: there is none. */
  waiting: ManifestProblem | undefined;
}

const unread: ManifestFile = {
  fingerprint: undefined,
  declared: { pods: [], configObjects: [] },
  problems: [],
  lastGood: undefined,
  waiting: undefined,
};

/**
 * The manifest files that are there, and what each declares. A file is a unit: while it is bad its last good revision
 * stands, as a whole. A file that never was good gives what is good of it.
 *
 * INVARIANTS: of files that declare the same object the one that did so first gives it, whatever comes later, and after a
 * restart too; nothing is written over on disk before `save`.
 */
export class ManifestFiles {
  private readonly deps: Deps;
  /** By path, in the order in which they were first seen. */
  private readonly files = new Map<string, ManifestFile>();
  private readonly claims = new FileClaims();
  private readonly unsaved = new Map<string, Uint8Array>();
  /** What is said of objects that are taken from another file: as long as nothing changes, the very same. */
  private refusals = new Map<string, ManifestProblem>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  get paths(): string[] {
    return [...this.files.keys()];
  }

  /** The known files at a path of manifests: the path itself, or those in the folder that it is. */
  at(path: string): string[] {
    return this.paths.filter((file) => isAt(file, path));
  }

  has(path: string): boolean {
    return this.files.has(path);
  }

  fingerprint(path: string): string | undefined {
    return this.files.get(path)?.fingerprint;
  }

  declaresAnything(path: string): boolean {
    const { declared } = this.files.get(path) ?? unread;
    return declared.pods.length + declared.configObjects.length > 0;
  }

  /** When the youngest of what runs for these files was read; undefined: nothing does. */
  newestGoodAt(paths: readonly string[]): number | undefined {
    const times = paths.map((path) => this.files.get(path)?.lastGood?.at ?? -Infinity);
    const newest = Math.max(...times);
    return newest === -Infinity ? undefined : newest;
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
    if (lastGood === undefined) this.set(path, { ...read, lastGood });
    else this.set(path, { ...read, problems: [...problems, stands(path, lastGood)], declared: lastGood, lastGood });
  }

  /**
   * What the file said before stands, in an earlier life too. `because`: why something newer is not read yet; undefined:
   * there is nothing newer. False: nothing is new.
   */
  async wait(path: string, because: ManifestProblem | undefined): Promise<boolean> {
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
   * `recorded` is its `contested`; what is not in it goes by which file declared it then, and by name.
   */
  async restoreOrder(recorded: ReadonlyMap<string, readonly string[]>): Promise<void> {
    for (const [key, files] of this.claims.contested()) {
      const ranks = new Map<string, number>();
      for (const file of files) {
        const rank = recorded.get(key)?.indexOf(file) ?? -1;
        ranks.set(file, rank >= 0 ? rank : (await this.declaredBefore(file, key)) ? files.length : files.length + 1);
      }
      this.claims.sort(key, (a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0) || (a < b ? -1 : 1));
    }
  }

  /** All that the files declare, and all that is wrong with them. */
  contents(): Manifests {
    const contents: Manifests = { pods: [], configObjects: [], problems: [] };
    const dependsOnPlaces: DependsOnPlace[] = [];
    const rivals = new Set([...this.claims.contested().values()].flat());
    const refusals = new Map<string, ManifestProblem>();
    for (const [path, { declared, problems, waiting }] of this.files) {
      for (const problem of problems) contents.problems.push(problem);
      if (waiting !== undefined) contents.problems.push(waiting);
      for (const place of declared.dependsOnPlaces ?? []) dependsOnPlaces.push(place);
      const given = rivals.has(path) ? this.given(path, declared, refusals) : declared;
      for (const pod of given.pods) contents.pods.push(pod);
      for (const object of given.configObjects) contents.configObjects.push(object);
    }
    contents.problems.push(...refusals.values());
    this.refusals = refusals;
    return { ...contents, ...(dependsOnPlaces.length > 0 && { dependsOnPlaces }) };
  }

  /** What is taken from a file that is not the only one to declare something. */
  private given(path: string, declared: Declared, refusals: Map<string, ManifestProblem>): Declared {
    const isGiven = (keys: readonly string[]): boolean => {
      const key = keys.find((candidate) => this.claims.owner(candidate) !== path);
      if (key === undefined) return true;
      const owner = this.claims.owner(key) ?? '';
      const id = JSON.stringify([path, key, owner]);
      refusals.set(id, this.refusals.get(id) ?? refusalOf(path, key, owner));
      return false;
    };
    return {
      pods: declared.pods.filter((pod) => isGiven(podKeys(pod))),
      configObjects: declared.configObjects.filter((object) => isGiven([configObjectKey(object)])),
    };
  }

  private set(path: string, file: ManifestFile): void {
    if (this.files.get(path)?.declared !== file.declared) this.claims.set(path, claimedKeys(file.declared));
    this.files.set(path, file);
  }

  private async findLastGood(path: string): Promise<Good | undefined> {
    const known = this.files.get(path)?.lastGood;
    const saved = await this.deps.lastGood?.load('file', path);
    if (known !== undefined) return { ...known, at: saved?.savedAt ?? known.at };
    if (saved === undefined) return undefined;
    const { problems, ...declared } = loadManifest(saved.body, path, this.deps);
    // Another release may not find good what its predecessor did.
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

/** The file is the path of manifests, or in the folder that it is. */
export function isAt(file: string, path: string): boolean {
  return file === path || dirname(file) === path;
}

function stands(path: string, { at, pods }: Good): ManifestProblem {
  const message = 'its last good revision stands';
  return { origin: path, severity: 'error', message, lastGoodAt: at, lastGoodPods: pods.map(podRef) };
}

function refusalOf(path: string, key: string, owner: string): ManifestProblem {
  const [kind = '', ...rest] = key.split('/');
  const isUID = kind === 'UID';
  return {
    origin: path,
    severity: 'error',
    field: isUID ? 'metadata.uid' : 'metadata.name',
    message: `${isUID ? 'UID' : kind} ${rest.join('/')} is declared by ${owner} already`,
    hint: isUID ? 'Leave it out, or give one of them another.' : 'Give one of them another name.',
  };
}
