import { type ManifestEntry, type ManifestNote, noteRepeatedKey } from './manifest-node.ts';

/** The members of a YAML mapping while it is read. A repeated member replaces the earlier one. */
export class EntryList {
  readonly list: ManifestEntry[] = [];
  readonly #places = new Map<string, number>();
  /** Keys that only a merge has set so far. */
  readonly #merged = new Set<string>();
  readonly #notes: ManifestNote[];

  /** Appends warnings to `notes`. */
  constructor(notes: ManifestNote[]) {
    this.#notes = notes;
  }

  /** Adds a member of the mapping itself. */
  add(entry: ManifestEntry): void {
    const { key, keyStart } = entry;
    if (this.#places.has(key) && !this.#merged.delete(key)) noteRepeatedKey(this.#notes, key, keyStart);
    this.#set(entry);
  }

  /** Adds the members of another mapping, by a merge key. */
  merge(entries: readonly ManifestEntry[]): void {
    for (const entry of entries) {
      if (!this.#places.has(entry.key)) this.#merged.add(entry.key);
      this.#set(entry);
    }
  }

  #set(entry: ManifestEntry): void {
    const place = this.#places.get(entry.key);
    if (place === undefined) this.#places.set(entry.key, this.list.push(entry) - 1);
    else this.list[place] = entry;
  }
}
