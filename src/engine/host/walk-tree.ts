import { hasCode } from '../../errors.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';

/** An entry that the walk visits. */
export interface WalkedEntry extends FolderEntry {
  /** True for a folder that the walk does not enter, because of a limit. */
  isTooDeep?: true;
}

/** Acts on one entry of `folder`. Returning `stop` ends the walk. */
export type Visit = (folder: OpenFolder, entry: WalkedEntry) => Promise<'stop' | undefined>;

/** Limits of a walk, because a container can make any tree. */
export interface WalkLimits {
  /** Levels of folders below the root. */
  maxLevels: number;
  /** Names of folders that are held at a time. Beyond it each level may hold `minNames`. */
  maxNames: number;
  minNames: number;
  /** Folders that are read in several parts and stay open for that. */
  maxPartlyRead: number;
}

const walkLimits: WalkLimits = { maxLevels: 1000, maxNames: 10_000, minNames: 64, maxPartlyRead: 16 };

/** A folder on the path from the root to the current place of the walk. */
interface Level {
  name: string;
  identity: string;
  /** Names of its folders that the walk has read and not entered yet. */
  left: string[];
  /** Reads the rest of the folder. Undefined when all of it is read. */
  unread: AsyncGenerator<FolderEntry, void> | undefined;
}

/**
 * Visits everything below the folder `path`, but not `path` itself. The entries of a folder come before the folder.
 * Files are visited while the folder is read. Of its folders few names are held: the walk reads on when it has entered
 * these. Follows no link and enters no mount inside. Enters no folder beyond the limits. Rejects if a folder is moved
 * while the walk is in it. Holds at most two folders open, and those that are partly read.
 */
export async function walkTree(path: string, visit: Visit, limits: Partial<WalkLimits> = {}): Promise<void> {
  const walk = new TreeWalk(await OpenFolder.open(path), visit, { ...walkLimits, ...limits });
  try {
    await walk.run();
  } finally {
    await walk.close();
  }
}

class TreeWalk {
  private readonly levels: Level[] = [];
  private readonly rootMount: string;
  private namesHeld = 0;

  constructor(
    private folder: OpenFolder,
    private readonly visit: Visit,
    private readonly limits: WalkLimits,
  ) {
    this.rootMount = folder.mountID;
  }

  async run(): Promise<void> {
    this.enter('');
    for (let level = this.levels.at(-1); level !== undefined; level = this.levels.at(-1)) {
      if ((await this.step(level)) === 'stop') return;
    }
  }

  async close(): Promise<void> {
    for (const { unread } of this.levels) await unread?.return();
    await this.folder.close();
  }

  private enter(name: string): void {
    const { folder } = this;
    this.levels.push({ name, identity: folder.identity, left: [], unread: folder.entries() });
  }

  private async step(level: Level): Promise<'stop' | undefined> {
    if (level.left.length === 0 && (await this.readOn(level)) === 'stop') return 'stop';
    const name = level.left.pop();
    if (name === undefined) return this.leave(level);
    this.namesHeld -= 1;
    return this.goInto(name);
  }

  /** Visits the files of the current folder until it is read, or until enough names of its folders are held. */
  private async readOn(level: Level): Promise<'stop' | undefined> {
    while (level.unread !== undefined) {
      const { value: entry } = await level.unread.next();
      if (entry === undefined) {
        level.unread = undefined;
      } else if (!entry.isDirectory) {
        if ((await this.visit(this.folder, entry)) === 'stop') return 'stop';
      } else {
        level.left.push(entry.name);
        this.namesHeld += 1;
        if (this.holdsEnough(level)) return undefined;
      }
    }
    return undefined;
  }

  private holdsEnough({ left }: Level): boolean {
    const { maxNames, minNames } = this.limits;
    return this.namesHeld >= maxNames && left.length >= minNames;
  }

  private async goInto(name: string): Promise<'stop' | undefined> {
    if (this.isAtLimit()) return this.visit(this.folder, { name, isDirectory: true, isTooDeep: true });
    const child = await openChild(this.folder, name, this.rootMount);
    if (child === 'gone') return undefined;
    if (child === 'leaf') return this.visit(this.folder, { name, isDirectory: true });
    await this.moveTo(child);
    this.enter(name);
    return undefined;
  }

  private isAtLimit(): boolean {
    const { maxLevels, maxPartlyRead } = this.limits;
    const partlyRead = this.levels.filter(({ unread }) => unread !== undefined);
    return this.levels.length > maxLevels || partlyRead.length >= maxPartlyRead;
  }

  private async leave({ name }: Level): Promise<'stop' | undefined> {
    this.levels.pop();
    const parent = this.levels.at(-1);
    if (parent === undefined) return undefined;
    await this.moveTo(await openParent(this.folder, parent));
    return this.visit(this.folder, { name, isDirectory: true });
  }

  private async moveTo(next: OpenFolder): Promise<void> {
    const before = this.folder;
    this.folder = next;
    await before.close();
  }
}

async function openChild(folder: OpenFolder, name: string, mount: string): Promise<OpenFolder | 'leaf' | 'gone'> {
  try {
    const child = await OpenFolder.open(folder.at(name));
    if (child.mountID === mount) return child;
    await child.close();
    return 'leaf';
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'gone';
    // It was a folder when it was listed, and was replaced since.
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return 'leaf';
    throw error;
  }
}

async function openParent(folder: OpenFolder, { identity }: Level): Promise<OpenFolder> {
  const parent = await OpenFolder.open(folder.at('..'));
  if (parent.identity === identity) return parent;
  await parent.close();
  throw new Error('a folder was moved while it was walked through');
}
