import { type ConfigObject, configObjectKey } from './config-object.ts';
import type { Pod } from '../types.ts';

/**
 * Which owner has a name that several declare: the one that declared it first, for as long as it does; then the next one.
 * Owners are the files of a folder, the sources of a node, the pods of a list or the objects of a text. Names are keys, as
 * those of `claimedKeys`.
 */
export class Claims<Owner> {
  /** By key: the owners that declare it, in the order in which they began to. */
  private readonly claimants = new Map<string, Owner[]>();
  private readonly keys = new Map<Owner, ReadonlySet<string>>();

  /** The owner declares these keys from now on, and no others. */
  set(owner: Owner, keys: Iterable<string>): void {
    const before = this.keys.get(owner) ?? new Set();
    const after = new Set(keys);
    for (const key of before) if (!after.has(key)) this.change(key, (owners) => owners.filter((one) => one !== owner));
    for (const key of after) if (!before.has(key)) this.change(key, (owners) => [...owners, owner]);
    if (after.size > 0) this.keys.set(owner, after);
    else this.keys.delete(owner);
  }

  /** The owner that has a key. Returns undefined if nothing declares it. */
  owner(key: string): Owner | undefined {
    return this.claimants.get(key)?.[0];
  }

  /** The first of the keys that another owner has. */
  taken(owner: Owner, keys: readonly string[]): string | undefined {
    return keys.find((key) => this.owner(key) !== owner);
  }

  /** The keys that several owners declare, sorted, each with its owners in their order. */
  contested(): Map<string, readonly Owner[]> {
    return new Map([...this.claimants].filter(([, { length }]) => length > 1).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Puts the owners that declare a key in another order. */
  sort(key: string, compare: (a: Owner, b: Owner) => number): void {
    this.change(key, (owners) => owners.toSorted(compare));
  }

  private change(key: string, change: (owners: Owner[]) => Owner[]): void {
    const owners = change(this.claimants.get(key) ?? []);
    if (owners.length > 0) this.claimants.set(key, owners);
    else this.claimants.delete(key);
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
