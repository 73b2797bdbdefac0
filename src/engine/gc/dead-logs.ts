import { readlink, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { PodRef } from '../../api/values/pod-names.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { containerIDOfLogSymlink, podOfLogsDirectory } from '../container/log-paths.ts';
import { listFolder } from '../../files/list-folder.ts';
import type { ContainerGCPlan } from './container-gc.ts';

interface Deps {
  podLogsDir: string;
  containerLogLinksDir: string;
  /** True if the runtime has a pod of another owner with this UID. Its logs would be in the same folder. */
  isForeign: (uid: string) => boolean;
  /** True if the pod is declared, worked on, or in the runtime. */
  isKnown: (uid: string) => boolean;
  /** Ids of containers in the runtime that have not exited. Their links are kept, so they are not read. */
  runningContainers: () => ReadonlySet<string>;
  /** True if this agent or an earlier one of this root-dir ran the pod. */
  wasOurs: (pod: PodRef) => Promise<boolean>;
  logger: Logger;
}

export type DeadLogNames = Record<'logDirs' | 'brokenLogLinks', string[]>;

/**
 * Finds log folders of removed pods, and links to deleted logs. The folders of both are shared with other agents and
 * kubelets, so only those of our pods count. kubelet: kuberuntime/kuberuntime_gc.go evictPodLogsDirectories
 */
export class DeadLogs {
  /** Folders of other owners' pods. Such a pod only becomes ours if it gets a folder below the root-dir. */
  private others = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /**
   * Resolves with the names of candidates. The plan of a collection selects among them. `own` are the UIDs of pods with
   * a folder below the root-dir: their log folders are removed together with that folder. Resolves with no names if a
   * folder cannot be read.
   */
  async find(own: ReadonlySet<string>): Promise<DeadLogNames> {
    const isPresent = (uid: string): boolean => own.has(uid) || this.deps.isKnown(uid);
    try {
      return { logDirs: await this.deadFolders(isPresent), brokenLogLinks: await this.brokenLinks(isPresent) };
    } catch (error) {
      this.deps.logger.warn({ err: errorMessage(error) }, 'Finding logs of removed pods failed');
      return { logDirs: [], brokenLogLinks: [] };
    }
  }

  async remove({
    logDirsToRemove,
    logLinksToRemove,
  }: Pick<ContainerGCPlan, 'logDirsToRemove' | 'logLinksToRemove'>): Promise<void> {
    const { podLogsDir, containerLogLinksDir, logger } = this.deps;
    for (const name of logDirsToRemove) {
      await rm(join(podLogsDir, name), { recursive: true, force: true });
      logger.info({ folder: join(podLogsDir, name) }, 'Removed the log folder of a removed pod');
    }
    for (const name of logLinksToRemove) await rm(join(containerLogLinksDir, name), { force: true });
  }

  private async deadFolders(isPresent: (uid: string) => boolean): Promise<string[]> {
    const names = await listFolder(this.deps.podLogsDir);
    this.others = new Set(names.filter((name) => this.others.has(name)));
    const dead: string[] = [];
    for (const name of names) {
      const pod = podOfLogsDirectory(name);
      if (pod === undefined || isPresent(pod.uid) || this.others.has(name)) continue;
      if (await this.isOurs(pod)) dead.push(name);
      else if (!this.deps.isForeign(pod.uid)) this.others.add(name);
    }
    return dead;
  }

  private async brokenLinks(isPresent: (uid: string) => boolean): Promise<string[]> {
    const { podLogsDir, containerLogLinksDir, isForeign } = this.deps;
    const broken: string[] = [];
    const running = this.deps.runningContainers();
    for (const name of await listFolder(containerLogLinksDir)) {
      if (running.has(containerIDOfLogSymlink(name) ?? '')) continue;
      const link = join(containerLogLinksDir, name);
      const target = await targetOf(link);
      // <podLogsDir>/<pod>/<container>/<n>.log
      const pod = target === undefined ? undefined : podOfLogsDirectory(relative(podLogsDir, dirname(dirname(target))));
      if (pod === undefined || isForeign(pod.uid)) continue;
      if (!(await isBroken(link))) continue;
      if (isPresent(pod.uid) || (await this.isOurs(pod))) broken.push(name);
    }
    return broken;
  }

  private async isOurs(pod: PodRef): Promise<boolean> {
    return !this.deps.isForeign(pod.uid) && (await this.deps.wasOurs(pod));
  }
}

/** Resolves with undefined unless the path is a link. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EINVAL')) return undefined;
    throw error;
  }
}

/** True for a link to a missing file. */
async function isBroken(link: string): Promise<boolean> {
  try {
    await stat(link);
    return false;
  } catch (error) {
    return hasCode(error, 'ENOENT');
  }
}
