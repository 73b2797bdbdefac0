import { dirname, join } from 'node:path';
import { errorMessage, hasCode } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { replaceFile } from '../write-file-atomic.ts';
import { readRegularFile } from './host/regular-file.ts';
import type { WallClockHistory, WallClockSetting } from '../flow/wall-clock-history.ts';
import { makeFolder } from '../make-folder.ts';

const bootIDPath = '/proc/sys/kernel/random/boot_id';
const maxFileBytes = 64 * 1024;

interface Deps {
  rootDir: string;
  wallClock: WallClockHistory;
  logger: Logger;
}

/**
 * How the wall clock was set since this machine started, on the disk: an agent that starts again counts the time since a stamp
 * as the one before it did. The monotonic clock starts with the machine, so nothing of an earlier start of it is of use.
 */
export class WallClockStore {
  private readonly deps: Deps;
  private bootID = '';
  private writing: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.deps = deps;
    deps.wallClock.onSet = () => {
      this.save();
    };
  }

  /** Takes up what an earlier life of the agent saw. Without it time counts from what the clock shows now. */
  async load(): Promise<void> {
    const { wallClock, logger } = this.deps;
    try {
      this.bootID = (await readRegularFile(bootIDPath, maxFileBytes)).toString('utf8').trim();
      const kept = parseKept((await readRegularFile(this.path, maxFileBytes)).toString('utf8'));
      if (kept?.bootID === this.bootID) wallClock.resume(kept.settings);
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR')) {
        logger.warn({ path: this.path, err: errorMessage(error) }, 'Reading how the clock was set failed');
      }
    }
    this.save();
  }

  /** Resolves when all is written, or could not be. */
  async close(): Promise<void> {
    this.save();
    await this.writing;
  }

  private get path(): string {
    return join(this.deps.rootDir, 'state', 'clock.json');
  }

  private save(): void {
    if (this.bootID !== '') this.writing = this.writing.then(() => this.write());
  }

  private async write(): Promise<void> {
    const { wallClock, logger } = this.deps;
    const kept = JSON.stringify({ bootID: this.bootID, settings: wallClock.settings.map(withoutInfinity) });
    try {
      await makeFolder(dirname(this.path), 0o700);
      await replaceFile(this.path, Buffer.from(kept));
    } catch (error) {
      logger.warn({ path: this.path, err: errorMessage(error) }, 'Keeping how the clock was set failed');
    }
  }
}

/** JSON has no infinity. Nothing is before the machine started but what is less than 0. */
function withoutInfinity(setting: WallClockSetting): WallClockSetting {
  return { ...setting, notBefore: Math.max(setting.notBefore, -Number.MAX_SAFE_INTEGER) };
}

/** Undefined for what no release of ours wrote whole. */
function parseKept(text: string): { bootID: unknown; settings: WallClockSetting[] } | undefined {
  const value = parseJSON(text);
  if (!isRecord(value)) return undefined;
  const { bootID, settings } = value;
  return Array.isArray(settings) && settings.every(isSetting) ? { bootID, settings } : undefined;
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not of ours.
    return undefined;
  }
}

function isSetting(value: unknown): value is WallClockSetting {
  if (!isRecord(value)) return false;
  return [value['offset'], value['notBefore'], value['firstSeen'], value['lastSeen']].every(Number.isFinite);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
