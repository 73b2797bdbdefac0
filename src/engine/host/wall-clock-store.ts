import { dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { replaceFile } from '../../files/write-file-atomic.ts';
import { readRecordFile } from './record-file.ts';
import type { WallClockHistory, WallClockSetting } from '../../flow/wall-clock-history.ts';
import { makeFolder } from '../../files/make-folder.ts';

const bootIDPath = '/proc/sys/kernel/random/boot_id';
const maxFileBytes = 64 * 1024;
/** Delay before a failed write is retried. */
const retryMs = 30_000;

interface Deps {
  rootDir: string;
  wallClock: WallClockHistory;
  clock: Clock;
  logger: Logger;
  /** Called when the clock has been set. */
  onSet: () => void;
}

/**
 * Saves on disk how the wall clock was set since the machine booted. So a restarted agent measures the time since a
 * timestamp like the agent before it. The monotonic clock starts at boot, so settings from before the boot are useless.
 */
export class WallClockStore {
  private bootID = '';
  private writing: Promise<void> = Promise.resolve();
  private isFailing = false;
  private cancelRetry: (() => void) | undefined;

  constructor(private readonly deps: Deps) {
    deps.wallClock.onSet = () => {
      this.save();
      deps.onSet();
    };
  }

  /** Loads the settings that an earlier agent recorded. Without them, time counts from the current setting. */
  async load(): Promise<void> {
    const { wallClock, logger } = this.deps;
    try {
      this.bootID = await readBootID();
      wallClock.resume(await readKept(this.path, this.bootID, logger));
    } catch (error) {
      logger.warn({ path: this.path, err: errorMessage(error) }, 'Reading the kept clock settings failed');
    }
    this.save();
  }

  /** Resolves after the last write, even if it failed. */
  async close(): Promise<void> {
    this.save();
    await this.writing;
    this.cancelRetry?.();
  }

  private get path(): string {
    return clockFile(this.deps.rootDir);
  }

  private save(): void {
    if (this.bootID !== '') this.writing = this.writing.then(() => this.write());
  }

  private async write(): Promise<void> {
    const { wallClock, clock, logger } = this.deps;
    this.cancelRetry?.();
    const kept = JSON.stringify({ bootID: this.bootID, settings: wallClock.settings.map(withoutInfinity) });
    try {
      await makeFolder(dirname(this.path), 0o700);
      await replaceFile(this.path, Buffer.from(kept));
      this.isFailing = false;
    } catch (error) {
      const message = 'Writing the clock settings failed; retrying';
      if (!this.isFailing) logger.warn({ path: this.path, err: errorMessage(error) }, message);
      this.isFailing = true;
      this.cancelRetry = clock.after(retryMs, () => {
        this.save();
      });
    }
  }
}

/**
 * Reads the wall clock settings since the boot that agents of this root-dir saved, oldest first. Empty if there are
 * none. Rejects with the file system's error.
 */
export async function readClockSettings(rootDir: string): Promise<WallClockSetting[]> {
  return readKept(clockFile(rootDir), await readBootID());
}

const clockFile = (rootDir: string): string => join(rootDir, 'state', 'clock.json');

/** Empty if the machine does not report one. */
async function readBootID(): Promise<string> {
  return (await readRecordFile(bootIDPath, maxFileBytes, (bytes) => bytes.toString('utf8').trim())) ?? '';
}

/** Empty if the file is from another boot, or was not written by any of our releases. */
async function readKept(path: string, bootID: string, logger?: Logger): Promise<WallClockSetting[]> {
  const kept = await readRecordFile(path, maxFileBytes, parseKept, logger);
  return kept?.bootID === bootID ? kept.settings : [];
}

/** JSON cannot hold Infinity. Any negative number means before the boot. */
function withoutInfinity(setting: WallClockSetting): WallClockSetting {
  return { ...setting, notBefore: Math.max(setting.notBefore, -Number.MAX_SAFE_INTEGER) };
}

/** Returns undefined if none of our releases wrote the bytes. */
function parseKept(bytes: Buffer): { bootID: string; settings: WallClockSetting[] } | undefined {
  const { bootID, settings } = Object(JSON.parse(bytes.toString('utf8'))) as Record<'bootID' | 'settings', unknown>;
  return typeof bootID === 'string' && isSettings(settings) ? { bootID, settings } : undefined;
}

function isSettings(value: unknown): value is WallClockSetting[] {
  return Array.isArray(value) && value.every(isSetting);
}

function isSetting(value: unknown): boolean {
  const { offset, notBefore, firstSeen, lastSeen } = Object(value) as Record<keyof WallClockSetting, unknown>;
  return [offset, notBefore, firstSeen, lastSeen].every(Number.isFinite);
}
