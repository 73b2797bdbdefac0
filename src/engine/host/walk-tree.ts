import { hasCode } from '../../errors.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';
import { WalkLevel } from './walk-level.ts';

/** An entry that the walk visits. */
export interface WalkedEntry extends FolderEntry {
  /** True for a folder that the walk does not enter, because it is below `maxLevels`. */
  isTooDeep?: true;
}

/** Acts on one entry of `folder`. Resolves with `stop` to end the walk, and with `removed` if it removed the entry. */
export type Visit = (folder: OpenFolder, entry: WalkedEntry) => Promise<'stop' | 'removed' | undefined>;

/** Called before the walk enters a folder of `folder`. Resolves with true if it deleted the folder. */
export type BeforeEntering = (folder: OpenFolder, name: string) => Promise<boolean>;

/** Limits of a walk, because a container can make any tree. */
export interface WalkLimits {
  /** How many levels below the root the walk enters. */
  maxLevels: number;
  /** How many names of folders are kept at a time. Beyond that, each level may keep `minNames`. */
  maxNames: number;
  minNames: number;
  /** How many partly read folders stay open. Any other is read again from its start. */
  maxPartlyRead: number;
  /** How many folders are found again by name after moves. After that, the walk continues in the folders above. */
  maxFoundAgain: number;
  /** How many moved folders are remembered, so that the walk does not enter them again in their new place. */
  maxMoved: number;
}

const walkLimits: WalkLimits = {
  maxLevels: 1000,
  maxNames: 10_000,
  minNames: 64,
  maxPartlyRead: 16,
  maxFoundAgain: 100_000,
  maxMoved: 10_000,
};

interface WalkOptions extends Partial<WalkLimits> {
  /** Defaults to entering every folder. */
  beforeEntering?: BeforeEntering;
  /**
   * If true, the walk continues if a folder is moved while the walk is inside it. It visits that folder as `.` of
   * itself. If a folder above was moved too, its rest may be skipped; then the walk resolves with `partial`. By default
   * the walk rejects.
   */
  survivesMoves?: boolean;
}

/**
 * Visits everything below the folder `path`, but not `path` itself. Visits the entries of a folder before the folder.
 * Visits files while it reads their folder. Keeps few names of folders in memory: it enters these folders before it
 * reads on. Follows no link and enters no mount inside. Enters no folder beyond `maxLevels`. Keeps at most two folders
 * open, plus the partly read ones. Entries that appear or disappear meanwhile may be visited twice or not at all. If a
 * folder was moved so that the walk cannot come back from it, rejects unless it `survivesMoves`. Resolves with
 * `partial` if it skipped the rest of a folder.
 */
export async function walkTree(
  path: string,
  visit: Visit,
  { beforeEntering = () => Promise.resolve(false), survivesMoves = false, ...limits }: WalkOptions = {},
): Promise<'partial' | undefined> {
  const root = { path, folder: await OpenFolder.open(path) };
  const walk = new TreeWalk(root, { visit, beforeEntering, survivesMoves }, { ...walkLimits, ...limits });
  try {
    await walk.run();
    return walk.isPartial ? 'partial' : undefined;
  } finally {
    await walk.close();
  }
}

class TreeWalk {
  /** True if the rest of a folder was skipped. */
  isPartial = false;
  private readonly levels: WalkLevel[];
  private readonly rootMount: string;
  private namesHeld = 0;
  private foundAgain = 0;
  /** Identities of folders that were moved while they were walked. */
  private readonly moved = new Set<string>();

  constructor(
    private readonly root: { path: string; folder: OpenFolder },
    private readonly visitor: { visit: Visit; beforeEntering: BeforeEntering; survivesMoves: boolean },
    private readonly limits: WalkLimits,
  ) {
    this.levels = [new WalkLevel('', root.folder)];
    this.rootMount = root.folder.mountID;
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

  /** Visits the files of the current folder until it is read, or until enough names of its folders are kept. */
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
    if (this.moved.has(child.identity)) {
      level.stayed += 1;
      await child.close();
      return undefined;
    }
    this.levels.push(new WalkLevel(name, child));
    await level.leave();
    await this.closeBeyondLimit();
    return undefined;
  }

  /** If too many partly read folders are open, closes the topmost one, because the walk needs it last. */
  private async closeBeyondLimit(): Promise<void> {
    const partlyRead = this.levels.filter(({ isPartlyRead }) => isPartlyRead);
    if (partlyRead.length > this.limits.maxPartlyRead) await partlyRead[0]?.close();
  }

  private async leave(level: WalkLevel): Promise<'stop' | undefined> {
    this.levels.pop();
    const parent = this.levels.at(-1);
    let isBack: boolean | undefined;
    try {
      isBack = await parent?.comeBack(level.folder);
      if (isBack === false && (await this.visitMoved(level)) === 'stop') return 'stop';
    } finally {
      await level.close();
    }
    if (isBack === false) await this.findAgain();
    return isBack === true && parent !== undefined
      ? this.show(parent, { name: level.name, isDirectory: true })
      : undefined;
  }

  private async visitMoved({ folder, identity }: WalkLevel): Promise<'stop' | undefined> {
    if (!this.visitor.survivesMoves) throw new Error('a folder was moved while it was walked through');
    if (this.moved.size < this.limits.maxMoved) this.moved.add(identity);
    return (await this.visitor.visit(folder, { name: '.', isDirectory: true })) === 'stop' ? 'stop' : undefined;
  }

  /** Opens the current folder again, by name from the deepest open folder. Leaves folders that are no longer there. */
  private async findAgain(): Promise<void> {
    const open = this.levels.findLastIndex(({ isPartlyRead }) => isPartlyRead);
    for (let index = open + 1; index < this.levels.length; index++) {
      const above = this.levels[index - 1];
      const level = this.levels[index];
      if (level !== undefined && !(await this.isFoundAgain(level, above))) {
        for (const { left } of this.levels.splice(index)) this.namesHeld -= left.length;
        this.isPartial = true;
      } else {
        await above?.leave();
      }
    }
  }

  /** `above` is the open folder that it was in. Undefined for the root. */
  private isFoundAgain(level: WalkLevel, above: WalkLevel | undefined): Promise<boolean> {
    this.foundAgain += 1;
    if (above === undefined) return level.openAgain(this.root.path);
    if (this.foundAgain > this.limits.maxFoundAgain) return Promise.resolve(false);
    return level.openAgain(above.folder.at(level.name));
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
