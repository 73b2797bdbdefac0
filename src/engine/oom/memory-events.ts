import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { hasCode } from '../../errors.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import { ifPresent } from '../../files/if-present.ts';
import { type CgroupStep, cgroupSteps } from './cgroup-steps.ts';

/**
 * Shortest period between two reads. A container at its limit that frees page cache changes the file a hundred times a
 * second.
 */
const quietMs = 1000;
/** Delay before checking again for a missing cgroup. */
const missingRetryMs = 10_000;

interface Deps {
  /** Folder of the cgroup that contains all pods, on cgroup v2. */
  folder: string;
  /** Called when a pod's cgroup counts another kill, with the containers whose cgroups still exist. */
  onKill: (podUID: string, containerIDs: string[]) => void;
  clock: Clock;
}

/**
 * Notices kills in the cgroups of pods, on cgroup v2. On v2 a cgroup counts the kills below it, and the kernel reports
 * changes of the count to inotify. On v1 the kernel reports them by eventfd, which Node does not support; there the
 * runtime reports these kills.
 */
export class MemoryEvents {
  /** Kills by folder of a pod or container. */
  private counts = new Map<string, number>();

  constructor(private readonly deps: Deps) {}

  /** Follows the counts until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        this.counts = await killsBelow(this.deps.folder);
        await this.follow(signal);
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw error;
        // The cgroup does not exist yet, or was removed.
        await this.deps.clock.sleep(missingRetryMs, { signal });
      }
    }
  }

  /** Rejects with ENOENT when the cgroup is removed. */
  private async follow(signal: AbortSignal): Promise<void> {
    const { folder, clock } = this.deps;
    for (;;) {
      // The watch is opened before the counts are read, so that no change is missed.
      const watched = watchFile(join(folder, eventsFile));
      try {
        await this.compare();
        await unlessAborted(watched.changed, signal);
      } finally {
        watched.close();
      }
      await this.compare();
      await clock.sleep(quietMs, { signal });
    }
  }

  /** Reports the pods with more kills than before. A new pod counts from none. */
  private async compare(): Promise<void> {
    const { folder, onKill } = this.deps;
    const total = await readKills(folder);
    if (total === (this.counts.get(folder) ?? 0)) return;
    const before = this.counts;
    this.counts = await killsBelow(folder);
    const grown = [...this.counts].filter(([path, kills]) => kills > (before.get(path) ?? 0)).map(([path]) => path);
    for (const pod of grown.filter((path) => podUIDOf(path) !== undefined)) {
      const containers = grown.filter((path) => dirname(path) === pod);
      onKill(podUIDOf(pod) ?? '', containers.map(containerIDOf));
    }
  }
}

const eventsFile = 'memory.events';

/** Counts kills by folder: of the cgroup that contains all pods, of pods, and of their containers. */
async function killsBelow(folder: string): Promise<Map<string, number>> {
  const kills = new Map([[folder, await readKills(folder)]]);
  const tiers = (await foldersIn(folder)).filter((path) => podUIDOf(path) === undefined);
  for (const tier of [folder, ...tiers]) {
    for (const pod of await foldersIn(tier)) {
      if (podUIDOf(pod) === undefined) continue;
      for (const path of [pod, ...(await foldersIn(pod))]) {
        // A cgroup that was just removed has no count. The others must keep theirs, or they would seem to grow from
        // zero later.
        const count = (await ifPresent(readKills(path), 'ENODEV')) ?? 0;
        if (count > 0) kills.set(path, count);
      }
    }
  }
  return kills;
}

const lastStep = (path: string): CgroupStep | undefined => cgroupSteps(path).at(-1);
const podUIDOf = (path: string): string | undefined => lastStep(path)?.podUID;
const containerIDOf = (path: string): string => lastStep(path)?.containerID ?? '';

async function foldersIn(folder: string): Promise<string[]> {
  const entries = (await ifPresent(readdir(folder, { withFileTypes: true }), 'ENODEV')) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

async function readKills(folder: string): Promise<number> {
  const text = await readFile(join(folder, eventsFile), 'utf8');
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** Watches one file. `changed` resolves at its first change, and rejects if watching fails. */
function watchFile(path: string): { changed: Promise<void>; close: () => void } {
  const watcher = watch(path);
  const changed = once(watcher, 'change').then(() => undefined);
  // `follow` may throw before it awaits.
  changed.catch(() => undefined);
  return {
    changed,
    close: () => {
      watcher.close();
    },
  };
}
