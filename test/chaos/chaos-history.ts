import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { journalFolder, journalNames } from './chaos-pod.ts';
import type { ChaosWorld } from './chaos-world.ts';
import type { ListedContainer } from './list-runtime.ts';
import type { SettledNode } from './settle.ts';

/** What must hold from one settled moment to the next. Each check throws. */
export class ChaosHistory {
  readonly #world: ChaosWorld;
  /** By container: the highest attempt ever seen and its id. */
  readonly #attempts = new Map<string, { attempt: number; id: string }>();
  /** By container and revision: its starts up to the last check, and those that no longer count. */
  #starts = new Map<string, number>();
  readonly #oldStarts = new Map<string, number>();
  #running: readonly ListedContainer[] = [];
  /** By container and revision: the starts of jobs that have completed. */
  #completed = new Map<string, number>();

  constructor(world: ChaosWorld) {
    this.#world = world;
  }

  async check({ listing, pods }: SettledNode): Promise<void> {
    await this.#nothingRanTwice();
    this.#forgetReborn(listing.containers);
    for (const container of listing.containers) this.#attemptsGrow(container);
    for (const { pod } of pods) {
      for (const { name, restartCount } of pod.status?.containerStatuses ?? []) {
        const attempt = this.#attempts.get(keyOf({ podUID: pod.metadata.uid, name }))?.attempt;
        if (attempt !== undefined && restartCount < attempt) {
          throw new Error(
            `${pod.metadata.name} ${name} tells of ${restartCount} restarts, and was started ${attempt + 1} times`,
          );
        }
      }
    }
    await this.#startsWereCounted(listing.containers);
    this.#completedStayedSo();
    await this.#hooksFinished(listing.containers);
    this.#untouchedRunOn(listing.containers);
  }

  /**
   * A revision that a rollback runs again counts anew, because its pod was removed in between. One of a stopped pod has
   * no containers before its start.
   */
  #forgetReborn(containers: readonly ListedContainer[]): void {
    const { reborn } = this.#world;
    const seen = new Set<string>();
    for (const container of containers) {
      const { podName, name, revision } = container;
      const pod = `${podName} ${revision}`;
      if (!reborn.has(pod)) continue;
      seen.add(pod);
      this.#attempts.delete(keyOf(container));
      const line = `${podName}_${name} ${revision}`;
      this.#oldStarts.set(line, this.#starts.get(line) ?? 0);
    }
    for (const pod of seen) reborn.delete(pod);
  }

  async #nothingRanTwice(): Promise<void> {
    const twice = await this.#journal(journalNames.twice);
    if (twice.length > 0) throw new Error(`ran twice at the same time: ${twice.join(', ')}`);
  }

  #attemptsGrow(container: ListedContainer): void {
    const { id, attempt } = container;
    const key = keyOf(container);
    const highest = this.#attempts.get(key);
    if (highest === undefined || attempt > highest.attempt) this.#attempts.set(key, { attempt, id });
    else if (attempt === highest.attempt && id !== highest.id) {
      throw new Error(`two containers of ${container.podName} ${container.name} are attempt ${attempt}`);
    }
  }

  /** A count of restarts that was lost on the way shows as more starts than attempts. */
  async #startsWereCounted(containers: readonly ListedContainer[]): Promise<void> {
    const starts = new Map<string, number>();
    for (const line of await this.#journal(journalNames.starts)) starts.set(line, (starts.get(line) ?? 0) + 1);
    this.#starts = starts;
    for (const { podName, name, revision, podUID } of containers) {
      const line = `${podName}_${name} ${revision}`;
      const started = (starts.get(line) ?? 0) - (this.#oldStarts.get(line) ?? 0);
      const attempt = this.#attempts.get(keyOf({ podUID, name }))?.attempt ?? 0;
      if (started > attempt + 1)
        throw new Error(`${podName} ${name} started ${started} times in ${attempt + 1} attempts`);
    }
  }

  /** Jobs that had completed, and that nothing was done to, did not start again. */
  #completedStayedSo(): void {
    const { desired, touched } = this.#world;
    const completed = new Map<string, number>();
    for (const { name, revision, ends } of desired.values()) {
      if (!ends) continue;
      for (const [line, count] of this.#starts) {
        if (!line.startsWith(`${name}_`) || !line.endsWith(` ${revision}`)) continue;
        const before = this.#completed.get(line);
        if (before !== undefined && before !== count && !touched.has(name))
          throw new Error(`${line} had completed after ${before} starts, and was started ${count} times`);
        completed.set(line, count);
      }
    }
    this.#completed = completed;
  }

  /** The postStart hook of every running container has finished, whatever cut it off. */
  async #hooksFinished(containers: readonly ListedContainer[]): Promise<void> {
    const instances = await this.#journal(journalNames.instances);
    const finished = new Set(await this.#journal(journalNames.hooks));
    for (const { podName, name, revision, isRunning } of containers) {
      if (!isRunning || this.#world.desired.get(podName)?.hooked.includes(name) !== true) continue;
      const newest = instances.findLast((line) => line.startsWith(`${podName}_${name} ${revision} `));
      if (newest === undefined || !finished.has(newest))
        throw new Error(`the postStart hook of ${podName} ${name} has not finished`);
    }
  }

  /** Containers of pods that nothing was done to are the same as before. */
  #untouchedRunOn(containers: readonly ListedContainer[]): void {
    const now = containers.filter(({ isRunning }) => isRunning);
    const ids = new Set(now.map(({ id }) => id));
    const { touched } = this.#world;
    const lost = this.#running.filter(({ podName, id }) => !touched.has(podName) && !ids.has(id));
    if (lost.length > 0) {
      throw new Error(`restarted for nothing: ${lost.map(({ podName, name }) => `${podName} ${name}`).join(', ')}`);
    }
    touched.clear();
    this.#running = now;
  }

  async #journal(name: string): Promise<string[]> {
    const text = await readFile(join(journalFolder(this.#world.agent.rootDir), name), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }
}

const keyOf = ({ podUID, name }: Pick<ListedContainer, 'podUID' | 'name'>): string => `${podUID} ${name}`;
