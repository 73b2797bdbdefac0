import { ifPresent } from '../../files/if-present.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';

/** A folder between the root of a walk and its current position. Its entries are read in several parts. */
export class WalkLevel {
  /** Names of its folders that were read but not entered yet. */
  readonly left: string[] = [];
  /** How many visited entries still exist. A new reader skips this many. */
  stayed = 0;
  readonly identity: string;
  private entries: AsyncGenerator<FolderEntry, void> | undefined;
  private isRead = false;

  /** `name`: its name in the folder above. */
  constructor(
    readonly name: string,
    private opened: OpenFolder,
  ) {
    this.identity = opened.identity;
  }

  /** Open while the walk is in it. */
  get folder(): OpenFolder {
    return this.opened;
  }

  /** True if it is partly read and therefore stays open. */
  get isPartlyRead(): boolean {
    return this.entries !== undefined;
  }

  /**
   * Resolves with the next entry, or undefined if everything is read. Earlier entries are visited, or their names are
   * in `left`.
   */
  async next(): Promise<FolderEntry | undefined> {
    if (this.isRead) return undefined;
    this.entries ??= this.opened.entries(this.stayed);
    const { value } = await this.entries.next();
    if (value !== undefined) return value;
    this.entries = undefined;
    this.isRead = true;
    return undefined;
  }

  /** Called when the walk enters a folder of this one. */
  async leave(): Promise<void> {
    if (!this.isPartlyRead) await this.opened.close();
  }

  /**
   * Called when the walk comes back from `child`. This folder was closed; resolves with false if `child` is no longer
   * in it.
   */
  async comeBack(child: OpenFolder): Promise<boolean> {
    return this.isPartlyRead || (await this.openAgain(child.at('..')));
  }

  /** Resolves with false if the path does not lead to this folder any more. */
  async openAgain(path: string | Buffer): Promise<boolean> {
    const found = await ifPresent(OpenFolder.open(path), 'ENOTDIR', 'ELOOP');
    if (found?.identity === this.identity) {
      this.opened = found;
      return true;
    }
    await found?.close();
    return false;
  }

  /** Closes the folder. A new reader reads the rest. */
  async close(): Promise<void> {
    await this.entries?.return();
    this.entries = undefined;
    await this.opened.close();
  }
}
