import { type ConfigObject, configObjectKey } from '../../../api/values/config-object.ts';
import type { Pod } from '../../../api/types.ts';

/**
 * Which file each object is taken from when several files declare it: the one that declared it first, for as long as it
 * does; then the next one. Files are named by path, objects by key.
 */
export class FileClaims {
  /** By key: the files that declare the object, in the order in which they began to. */
  private readonly claimants = new Map<string, string[]>();
  private readonly keys = new Map<string, ReadonlySet<string>>();
  private readonly contestedKeys = new Set<string>();

  /** The file declares these objects from now on, and no others. */
  set(file: string, keys: readonly string[]): void {
    const before = this.keys.get(file) ?? new Set();
    const after = new Set(keys);
    for (const key of before) if (!after.has(key)) this.change(key, (files) => files.filter((path) => path !== file));
    for (const key of after) if (!before.has(key)) this.change(key, (files) => [...files, file]);
    if (after.size > 0) this.keys.set(file, after);
    else this.keys.delete(file);
  }

  /** The file that an object is taken from. */
  owner(key: string): string | undefined {
    return this.claimants.get(key)?.[0];
  }

  /** The objects that several files declare, each with its files in their order. */
  contested(): Map<string, readonly string[]> {
    return new Map([...this.contestedKeys].sort().map((key) => [key, this.claimants.get(key) ?? []]));
  }

  /** Puts the files that declare an object in another order. */
  sort(key: string, compare: (a: string, b: string) => number): void {
    this.change(key, (files) => files.toSorted(compare));
  }

  private change(key: string, change: (files: string[]) => string[]): void {
    const files = change(this.claimants.get(key) ?? []);
    if (files.length > 0) this.claimants.set(key, files);
    else this.claimants.delete(key);
    if (files.length > 1) this.contestedKeys.add(key);
    else this.contestedKeys.delete(key);
  }
}

/** What no two pods may share: the name, and the UID that a manifest may give. */
export function podKeys({ metadata: { namespace, name, uid } }: Pod): string[] {
  return [`Pod/${namespace}/${name}`, `UID/${uid}`];
}

/** The keys of everything that a file declares. */
export function claimedKeys(declared: { pods: readonly Pod[]; configObjects: readonly ConfigObject[] }): string[] {
  return [...declared.pods.flatMap(podKeys), ...declared.configObjects.map(configObjectKey)];
}
