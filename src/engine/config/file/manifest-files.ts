import { isDeepStrictEqual } from 'node:util';
import { withoutWorkloads } from '../../../api/values/declared-pods.ts';
import { NameOwners, claimedKeys, objectKeys, podKeys } from '../../../api/values/name-owners.ts';
import { type DeclaredWorkload, workloadKey } from '../../../api/values/workload.ts';
import { joinManifests } from '../../../api/objects/join-manifests.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { SourceName } from '../../../api/values/config-annotations.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { podRef } from '../../../api/values/pod-names.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { declaredAlready, isGood, loadManifest, podUIDHash } from '../load-manifest.ts';
import type { Revision } from './manifest-reader.ts';

interface Deps extends StaticPodNode {
  /** The source name under which the revisions are saved. */
  source: SourceName;
  clock: Clock;
  /** Undefined if no revision is saved for the next start. */
  lastGood?: LastGoodManifests | undefined;
}

/** What to do if two files declare a key of this kind. */
const hints: Readonly<Record<string, string>> = {
  ClusterIP: 'Give one of them another address, or leave it out to have one chosen.',
  NodePort: 'Give one of them another port, or leave it out to have one chosen.',
  UID: 'Leave it out, or give one of them another.',
};
const hintFor = (key: string): string => hints[key.split('/')[0] ?? ''] ?? 'Give one of them another name.';

type Declared = Pick<
  Manifests,
  | 'pods'
  | 'configObjects'
  | 'workloads'
  | 'dependsOnPositions'
  | 'classPositions'
  | 'derivedUIDs'
  | 'namePositions'
  | 'declaresNothing'
  | 'broken'
>;

interface ManifestFile {
  /** Fingerprint of the newest revision; empty if none was read since the start. */
  fingerprint: string;
  declared: Declared;
  /** Problems of the newest revision. */
  problems: ManifestProblem[];
  /** The last good revision, with the time when it was read; wall clock. */
  lastGood: (Declared & { at: number }) | undefined;
  /** Why a newer revision is not read yet; undefined if there is none. */
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
 * The existing manifest files and their declared objects. If a file is bad, its whole last good revision stays in use.
 * If it was never good, its good objects are used.
 *
 * INVARIANTS: if several files declare one object, the first of them owns it, even after a restart. Nothing on disk is
 * overwritten before `save`.
 */
export class ManifestFiles {
  /** By path, in the order in which they were first seen. */
  private readonly files = new Map<string, ManifestFile>();
  private readonly owners = new NameOwners<string>();
  private readonly unsaved = new Map<string, Uint8Array>();

  constructor(private readonly deps: Deps) {}

  get paths(): string[] {
    return [...this.files.keys()];
  }

  /** Returns the file that owns the object with this key. Returns undefined if none declares it. */
  owner(key: string): string | undefined {
    return this.owners.owner(key);
  }

  has(path: string): boolean {
    return this.files.has(path);
  }

  fingerprint(path: string): string | undefined {
    return this.files.get(path)?.fingerprint;
  }

  /**
   * Returns when the newest good revision of the files that match was read. Undefined if none is good.
   */
  newestGoodAt(matches: (path: string) => boolean): number | undefined {
    const times = [...this.files].flatMap(([path, { lastGood }]) => (lastGood && matches(path) ? [lastGood.at] : []));
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** Stores a new revision of a file. */
  async store(path: string, { fingerprint, bytes, problems, ...declared }: Revision): Promise<void> {
    const read = { fingerprint, problems, declared, waiting: undefined };
    if (isGood(read)) {
      if (bytes !== undefined) this.unsaved.set(path, bytes);
      this.set(path, { ...read, lastGood: { ...declared, at: this.deps.clock.now() } });
      return;
    }
    const lastGood = await this.findLastGood(path);
    if (lastGood !== undefined) {
      const message = 'its last good revision stays in use';
      const { at, pods } = lastGood;
      problems.push({ origin: path, severity: 'error', message, lastGoodAt: at, lastGoodPods: pods.map(podRef) });
    }
    this.set(path, { ...read, declared: lastGood ?? declared, lastGood });
  }

  /**
   * Keeps using the known revision of the file, or the one that an earlier run saved. `because` says why a newer
   * revision is not read yet; undefined if there is none. Returns false if nothing changed.
   */
  async wait(path: string, because?: ManifestProblem): Promise<boolean> {
    const known = this.files.get(path);
    if (known !== undefined && isDeepStrictEqual(known.waiting, because)) return false;
    this.set(path, { ...(known ?? (await this.restored(path))), waiting: because });
    return true;
  }

  /** Restores the revisions that an earlier run saved of the files that match. */
  async restore(matches: (file: string) => boolean): Promise<void> {
    for (const { where } of (await this.deps.lastGood?.list(this.deps.source)) ?? []) {
      if (matches(where) && !this.files.has(where)) this.set(where, await this.restored(where));
    }
  }

  /** Removes a deleted file and its objects. */
  remove(path: string): void {
    this.files.delete(path);
    this.owners.set(path, []);
    this.unsaved.delete(path);
    void this.deps.lastGood?.remove(this.deps.source, path);
  }

  /** Saves the new good revisions for the next start. */
  save(): void {
    for (const [path, bytes] of this.unsaved) void this.deps.lastGood?.save(this.deps.source, path, bytes);
    this.unsaved.clear();
  }

  /** Returns the objects that several files declare: by key, the paths of these files, the owner first. */
  contested(): Map<string, readonly string[]> {
    return this.owners.contested();
  }

  /**
   * Restores the owners of an earlier run for objects that several files declare. `recorded` is what `contested`
   * returned in that run. Files missing there are ordered by whether their saved revision declares the object, then by
   * name.
   */
  async restoreOrder(recorded: ReadonlyMap<string, readonly string[]>): Promise<void> {
    for (const [key, files] of this.contested()) {
      const ranks = new Map<string, number>();
      for (const file of files) {
        const rank = recorded.get(key)?.indexOf(file) ?? -1;
        ranks.set(file, rank >= 0 ? rank : (await this.declaredBefore(file, key)) ? files.length : files.length + 1);
      }
      this.owners.sort(key, (a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0) || (a < b ? -1 : 1));
    }
  }

  /** Returns all objects and problems of the files. */
  contents(): ReturnType<typeof joinManifests> {
    // The pods of a workload are claimed once no other file declares it.
    for (const [path, { declared }] of this.files) this.claim(path, declared);
    const refused = new Map<string, ManifestProblem>();
    const owned = [...this.files].map(([path, { declared, problems, waiting }]) => {
      const isGiven = (keys: readonly string[]): boolean => {
        const key = this.owners.claimedByAnother(path, keys);
        if (key === undefined) return true;
        const owner = this.owners.owner(key) ?? '';
        refused.set(`${path} ${key}`, declaredAlready(path, key, owner, hintFor(key), declared.namePositions));
        return false;
      };
      const taken = (declared.workloads ?? []).filter((workload) => !isGiven([workloadKey(workload)]));
      const own = withoutWorkloads(declared, taken, podUIDHash);
      return {
        ...own,
        problems: [...problems, ...(waiting === undefined ? [] : [waiting])],
        pods: own.pods.filter((pod) => isGiven(podKeys(pod))),
        configObjects: own.configObjects.filter((object) => isGiven(objectKeys(object))),
      };
    });
    return joinManifests([...owned, { problems: [...refused.values()] }]);
  }

  private set(path: string, file: ManifestFile): void {
    if (this.files.get(path)?.declared !== file.declared) this.claim(path, file.declared);
    this.files.set(path, file);
  }

  /** Claims everything that a file declares, but no pods of workloads that another file declared first. */
  private claim(path: string, declared: Declared): void {
    const isTaken = (workload: DeclaredWorkload): boolean =>
      ![path, undefined].includes(this.owners.owner(workloadKey(workload)));
    const taken = (declared.workloads ?? []).filter(isTaken);
    const own = withoutWorkloads(declared, taken, podUIDHash);
    this.owners.set(path, [...claimedKeys(own), ...taken.map(workloadKey)]);
  }

  private async findLastGood(path: string): Promise<ManifestFile['lastGood']> {
    const known = this.files.get(path)?.lastGood;
    const saved = await this.deps.lastGood?.load(this.deps.source, path);
    if (known !== undefined) return { ...known, at: saved?.savedAt ?? known.at };
    if (saved === undefined) return undefined;
    const { problems, ...declared } = loadManifest(saved.body, path, this.deps);
    // A newer release may find errors where an older one found none.
    return isGood({ problems }) ? { ...declared, at: saved.savedAt } : undefined;
  }

  private async restored(path: string): Promise<ManifestFile> {
    const lastGood = await this.findLastGood(path);
    return lastGood === undefined ? unread : { ...unread, declared: lastGood, lastGood };
  }

  private async declaredBefore(path: string, key: string): Promise<boolean> {
    const saved = await this.deps.lastGood?.load(this.deps.source, path);
    return saved !== undefined && claimedKeys(loadManifest(saved.body, path, this.deps)).includes(key);
  }
}
