import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import type { CgroupMounts } from './cgroup-mounts.ts';

/** kubelet: cm/container_manager_linux.go Start, its tasks every five minutes and every minute */
const scorePeriodMs = 300_000;
const cgroupPeriodMs = 60_000;
/**
 * Repeat, because processes may start while others are moved. kubelet: cm/container_manager_linux.go
 * ensureSystemCgroups
 */
const maxMoveRounds = 10;

export interface ProcessSettings {
  /** oom_score_adj of the agent. */
  oomScoreAdj: number;
  /** Cgroup that the agent moves itself into. Empty for none. */
  kubeletCgroups: string;
  /** Cgroup that processes of the root cgroup are moved into. Empty for none. */
  systemCgroups: string;
}

interface Deps {
  settings: ProcessSettings;
  /** PID of the runtime that the agent started. Undefined if another program started it or it is not running. */
  runtimePID: () => number | undefined;
  mounts: CgroupMounts;
  files: Pick<CgroupFiles, 'makeFolder' | 'write'>;
  /** Normally `/proc`. */
  procFolder: string;
  ownPID: number;
  clock: Clock;
  logger: Pick<Logger, 'info'>;
}

/** kubelet: qos/policy.go, for its runtime */
const runtimeOOMScoreAdj = -999;

/**
 * Keeps node processes in their cgroups, and protects the agent and its runtime from the OOM killer. Applies both
 * periodically, because other programs may change them. kubelet: cm/container_manager_linux.go setupNode
 *
 * INVARIANT: a refusal is logged once and stops nothing.
 */
export class NodeProcesses {
  /** A refusal for the agent was already logged when it set its score at the start. */
  private readonly refused = new Set(['the agent']);

  constructor(private readonly deps: Deps) {}

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, clock } = this.deps;
    const hasCgroups = settings.kubeletCgroups !== '' || settings.systemCgroups !== '';
    for (;;) {
      await this.apply();
      await clock.sleep(hasCgroups ? cgroupPeriodMs : scorePeriodMs, { signal });
    }
  }

  /** Applies all settings once. */
  async apply(): Promise<void> {
    const { settings, ownPID, runtimePID } = this.deps;
    const { kubeletCgroups, systemCgroups, oomScoreAdj } = settings;
    await this.applyScore(ownPID, oomScoreAdj, 'the agent');
    const pid = runtimePID();
    if (pid !== undefined) await this.applyScore(pid, runtimeOOMScoreAdj, 'the runtime');
    for (const top of this.limitingHierarchies) {
      if (kubeletCgroups !== '') await this.moveInto(join(top, kubeletCgroups), (folder) => this.moveAgent(folder));
      if (systemCgroups !== '') await this.moveInto(join(top, systemCgroups), (folder) => this.moveSystem(top, folder));
    }
  }

  /**
   * The hierarchies that limit processes. Excludes systemd's hierarchy of cgroup v1, because systemd uses it to find
   * the processes of a service.
   */
  private get limitingHierarchies(): string[] {
    const { controllers, hierarchies, version } = this.deps.mounts;
    return version === 2 ? [...hierarchies] : [...new Set(controllers.values())];
  }

  private async applyScore(pid: number, score: number, process: string): Promise<void> {
    const path = join(this.deps.procFolder, String(pid), 'oom_score_adj');
    const facts = { process, oomScoreAdj: score };
    await this.logRefusal(process, 'Could not protect this process from the OOM killer', facts, async () => {
      if (Number(await readFile(path, 'utf8')) !== score) await this.deps.files.write(path, String(score));
    });
  }

  private async moveInto(folder: string, moveAll: (folder: string) => Promise<void>): Promise<void> {
    await this.logRefusal(folder, 'Moving processes into their cgroup failed; retrying', {}, async () => {
      await this.deps.files.makeFolder(folder);
      await moveAll(folder);
    });
  }

  private async moveAgent(folder: string): Promise<void> {
    const { ownPID } = this.deps;
    if (!(await processesIn(folder)).includes(ownPID)) await this.move(ownPID, folder);
  }

  /** Moves all processes even if some cannot be moved. kubelet: ensureSystemCgroups */
  private async moveSystem(top: string, folder: string): Promise<void> {
    const refusals = new Map<number, unknown>();
    for (let round = 0; round < maxMoveRounds; round++) {
      const movable = (await this.movableIn(top)).filter((pid) => !refusals.has(pid));
      if (movable.length === 0) break;
      for (const pid of movable) await this.move(pid, folder).catch((error: unknown) => refusals.set(pid, error));
    }
    const [refusal] = refusals;
    if (refusal !== undefined) throw new Error(`process ${refusal[0]}: ${errorMessage(refusal[1])}`);
  }

  /** Processes of the root cgroup, except kernel threads, the first process, and processes of other PID namespaces. */
  private async movableIn(top: string): Promise<number[]> {
    const movable: number[] = [];
    for (const pid of await processesIn(top)) if (pid > 1 && !(await this.isKernelThread(pid))) movable.push(pid);
    return movable;
  }

  /** True for a kernel thread, which has no executable, and for an exited process. */
  private async isKernelThread(pid: number): Promise<boolean> {
    try {
      await readlink(join(this.deps.procFolder, String(pid), 'exe'));
      return false;
    } catch {
      return true;
    }
  }

  private async move(pid: number, folder: string): Promise<void> {
    try {
      await this.deps.files.write(join(folder, 'cgroup.procs'), String(pid));
    } catch (error) {
      // The process has exited.
      if (!hasCode(error, 'ESRCH')) throw error;
    }
  }

  private async logRefusal(key: string, message: string, facts: object, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.refused.delete(key);
    } catch (error) {
      if (!this.refused.has(key)) this.deps.logger.info({ ...facts, err: errorMessage(error) }, message);
      this.refused.add(key);
    }
  }
}

async function processesIn(folder: string): Promise<number[]> {
  return (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean).map(Number);
}
