import { ifPresent } from '../../files/if-present.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';

/** A folder on the path from the root to the current place of a walk. Its entries are read in several parts. */
export class WalkLevel {
  /** Names of its folders that were read and are not entered yet. */
  readonly left: string[] = [];
  /** Entries that the walk has visited and that are still there. A new reader passes over so many. */
  stayed = 0;
  readonly identity: string;
  private entries: AsyncGenerator<FolderEntry, void> | undefined;
  private isRead = false;

  /** `name`: in the folder above. */
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

  /** True if it stays open until it is read on. */
  get isPartlyRead(): boolean {
    return this.entries !== undefined;
  }

  /** Resolves with undefined if all is read. All entries before it are visited, or their names are in `left`. */
  async next(): Promise<FolderEntry | undefined> {
    if (this.isRead) return undefined;
    this.entries ??= this.opened.entries(this.stayed);
    const { value } = await this.entries.next();
    if (value !== undefined) return value;
    this.entries = undefined;
    this.isRead = true;
    return undefined;
  }

  /** The walk goes into a folder of this one. */
  async leave(): Promise<void> {
    if (!this.isPartlyRead) await this.opened.close();
  }

  /** The walk comes back from `child`. Resolves with false if that is no longer in this folder, which was closed. */
  async comeBack(child: OpenFolder): Promise<boolean> {
    return this.isPartlyRead || (await this.openAgain(child.at('..')));
  }

  /** Resolves with false if the path leads to no folder, or to another one. */
  async openAgain(path: string | Buffer): Promise<boolean> {
    const found = await ifPresent(OpenFolder.open(path), 'ENOTDIR', 'ELOOP');
    if (found?.identity === this.identity) {
      this.opened = found;
      return true;
    }
    await found?.close();
    return false;
  }

  /** What is unread then is read by a new reader. */
  async close(): Promise<void> {
    await this.entries?.return();
    this.entries = undefined;
    await this.opened.close();
  }
}
