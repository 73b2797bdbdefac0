import { type ConfigObject, configObjectKey } from './config-object.ts';
import { allocationKeys } from './service.ts';
import type { Pod } from '../types.ts';
import { type DeclaredWorkload, workloadKey } from './workload.ts';

/**
 * Decides which of several owners has a name: the one that declared it first, as long as it does, then the next one.
 * Owners are the files of a folder, the sources of a node, the pods of a list or the objects of a text. Names are keys,
 * such as those from `claimedKeys`.
 */
export class NameOwners<Owner> {
  /** The owners that declare each key, in the order of their declarations. */
  private readonly claimants = new Map<string, Owner[]>();
  private readonly keys = new Map<Owner, ReadonlySet<string>>();

  /** Sets the keys that the owner declares. */
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

  /** Returns the first of these keys that another owner has. Returns undefined if there is none. */
  claimedByAnother(owner: Owner, keys: readonly string[]): string | undefined {
    return keys.find((key) => this.owner(key) !== owner);
  }

  /** The keys that several owners declare, sorted, each with its owners in order. */
  contested(): Map<string, readonly Owner[]> {
    return new Map([...this.claimants].filter(([, { length }]) => length > 1).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Sorts the owners that declare a key. */
  sort(key: string, compare: (a: Owner, b: Owner) => number): void {
    this.change(key, (owners) => owners.toSorted(compare));
  }

  private change(key: string, change: (owners: Owner[]) => Owner[]): void {
    const owners = change(this.claimants.get(key) ?? []);
    if (owners.length > 0) this.claimants.set(key, owners);
    else this.claimants.delete(key);
  }
}

/** The unique keys of a pod: its name, and its UID, which a manifest may set. */
export function podKeys({ metadata: { namespace, name, uid } }: Pod): string[] {
  return [`Pod/${namespace}/${name}`, `UID/${uid}`];
}

/** The unique keys of an object other than a pod: its name, and the addresses and ports that a Service asks for. */
export function objectKeys(object: ConfigObject): string[] {
  return [configObjectKey(object), ...(object.kind === 'Service' ? allocationKeys(object) : [])];
}

/**
 * The unique keys of a workload: its own, and those of its first pod, even if it wants none now. The runs of a CronJob
 * have other names.
 */
function workloadKeys(workload: DeclaredWorkload): string[] {
  return [workloadKey(workload), ...(workload.kind === 'CronJob' ? [] : podKeys(workload.template))];
}

/** The keys of all objects that a file declares. */
export function claimedKeys({ pods, workloads = [], configObjects }: Declared): string[] {
  return [
    ...new Set([...workloads.flatMap(workloadKeys), ...pods.flatMap(podKeys), ...configObjects.flatMap(objectKeys)]),
  ];
}

interface Declared {
  pods: readonly Pod[];
  workloads?: readonly DeclaredWorkload[];
  configObjects: readonly ConfigObject[];
}
