import { hasCode } from '../../errors.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';
import { WalkLevel } from './walk-level.ts';

/** An entry that the walk visits. */
export interface WalkedEntry extends FolderEntry {
  /** True for a folder that the walk does not enter, because it is below `maxLevels`. */
  isTooDeep?: true;
}

/** Acts on one entry of `folder`. Resolves with `stop` to end the walk, and with `removed` if the entry is gone. */
export type Visit = (folder: OpenFolder, entry: WalkedEntry) => Promise<'stop' | 'removed' | undefined>;

/** Called before the walk enters a folder of `folder`. Resolves with true if it deleted that one. */
export type BeforeEntering = (folder: OpenFolder, name: string) => Promise<boolean>;

/** Limits of a walk, because a container can make any tree. */
export interface WalkLimits {
  /** Levels of folders below the root. */
  maxLevels: number;
  /** Names of folders that are held at a time. Beyond it each level may hold `minNames`. */
  maxNames: number;
  minNames: number;
  /** Folders that are read in several parts and stay open for that. Any further one is read again from its start. */
  maxPartlyRead: number;
}

const walkLimits: WalkLimits = { maxLevels: 1000, maxNames: 10_000, minNames: 64, maxPartlyRead: 16 };

interface WalkOptions extends Partial<WalkLimits> {
  /** By default every folder is entered. */
  beforeEntering?: BeforeEntering;
}

/**
 * Visits everything below the folder `path`, but not `path` itself. The entries of a folder come before the folder.
 * Files are visited while the folder is read. Of its folders few names are held: the walk reads on when it has entered
 * these. Follows no link and enters no mount inside. Enters no folder beyond `maxLevels`. Holds at most two folders
 * open, and those that are partly read. What comes and goes meanwhile may be visited twice or not at all. Rejects if it
 * cannot come back from a folder, because that was moved.
 */
export async function walkTree(
  path: string,
  visit: Visit,
  { beforeEntering = () => Promise.resolve(false), ...limits }: WalkOptions = {},
): Promise<void> {
  const walk = new TreeWalk(await OpenFolder.open(path), { visit, beforeEntering }, { ...walkLimits, ...limits });
  try {
    await walk.run();
  } finally {
    await walk.close();
  }
}

class TreeWalk {
  private readonly levels: WalkLevel[];
  private readonly rootMount: string;
  private namesHeld = 0;

  constructor(
    root: OpenFolder,
    private readonly visitor: { visit: Visit; beforeEntering: BeforeEntering },
    private readonly limits: WalkLimits,
  ) {
    this.levels = [new WalkLevel('', root)];
    this.rootMount = root.mountID;
  }

  async run(): Promise<void> {
    for (let level = this.levels.at(-1); level !== undefined; level = this.levels.at(-1)) {
      if ((await this.step(level)) === 'stop') return;
    }
  }

  async close(): Promise<void> {
    for (const level of this.levels) await level.close();
  }

  private async step(level: WalkLevel): Promise<'stop' | undefined> {
    if (level.left.length === 0 && (await this.readOn(level)) === 'stop') return 'stop';
    const name = level.left.pop();
    if (name === undefined) return this.leave(level);
    this.namesHeld -= 1;
    return this.goInto(level, name);
  }

  /** Visits the files of the current folder until it is read, or until enough names of its folders are held. */
  private async readOn(level: WalkLevel): Promise<'stop' | undefined> {
    for (let entry = await level.next(); entry !== undefined; entry = await level.next()) {
      if (!entry.isDirectory) {
        if ((await this.show(level, entry)) === 'stop') return 'stop';
        continue;
      }
      level.left.push(entry.name);
      this.namesHeld += 1;
      if (this.holdsEnough(level)) return undefined;
    }
    return undefined;
  }

  private holdsEnough({ left }: WalkLevel): boolean {
    const { maxNames, minNames } = this.limits;
    return this.namesHeld >= maxNames && left.length >= minNames;
  }

  private async show(level: WalkLevel, entry: WalkedEntry): Promise<'stop' | undefined> {
    const result = await this.visitor.visit(level.folder, entry);
    if (result !== 'removed') level.stayed += 1;
    return result === 'stop' ? 'stop' : undefined;
  }

  private async goInto(level: WalkLevel, name: string): Promise<'stop' | undefined> {
    if (await this.visitor.beforeEntering(level.folder, name)) return undefined;
    if (this.levels.length > this.limits.maxLevels) {
      return this.show(level, { name, isDirectory: true, isTooDeep: true });
    }
    const child = await openChild(level.folder, name, this.rootMount);
    if (child === 'gone') return undefined;
    if (child === 'leaf') return this.show(level, { name, isDirectory: true });
    this.levels.push(new WalkLevel(name, child));
    await level.leave();
    await this.closeBeyondLimit();
    return undefined;
  }

  /** Closes the folder that is furthest above of too many that are partly read. The walk needs it last. */
  private async closeBeyondLimit(): Promise<void> {
    const partlyRead = this.levels.filter(({ isPartlyRead }) => isPartlyRead);
    if (partlyRead.length > this.limits.maxPartlyRead) await partlyRead[0]?.close();
  }

  private async leave(level: WalkLevel): Promise<'stop' | undefined> {
    this.levels.pop();
    const parent = this.levels.at(-1);
    try {
      await parent?.comeBack(level.folder);
    } finally {
      await level.close();
    }
    return parent === undefined ? undefined : this.show(parent, { name: level.name, isDirectory: true });
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
