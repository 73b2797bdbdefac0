import { type ManifestEntry, type ManifestNote, noteRepeatedKey } from './manifest-node.ts';

/** The members of a YAML mapping while it is read: one that comes again takes the place of the one before. */
export class EntryList {
  readonly list: ManifestEntry[] = [];
  readonly #places = new Map<string, number>();
  /** Keys that only a merge gave so far. */
  readonly #merged = new Set<string>();
  readonly #notes: ManifestNote[];

  /** What there is to say goes to `notes`. */
  constructor(notes: ManifestNote[]) {
    this.#notes = notes;
  }

  /** Adds a member that is written in the mapping itself. */
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
