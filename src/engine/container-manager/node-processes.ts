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
/** Others may start processes while these are moved. kubelet: cm/container_manager_linux.go ensureSystemCgroups */
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
  /** PID of the runtime that the agent started. Undefined if another one started it, or while it does not run. */
  runtimePID: () => number | undefined;
  mounts: CgroupMounts;
  files: Pick<CgroupFiles, 'makeFolder' | 'write'>;
  /** Normally `/proc`. */
  procFolder: string;
  ownPID: number;
  clock: Clock;
  logger: Pick<Logger, 'info'>;
}

/** kubelet: qos/policy.go, of its runtime */
const runtimeOOMScoreAdj = -999;

/**
 * Keeps the processes of the node in their cgroups, and spares the agent and its runtime when memory runs out. Other
 * programs may change both. kubelet: cm/container_manager_linux.go setupNode
 *
 * INVARIANT: a refusal is logged once, and does not end anything.
 */
export class NodeProcesses {
  /** Those of the agent were logged when it set its score at the start. */
  private readonly refused = new Set(['the agent']);

  constructor(private readonly deps: Deps) {}

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, clock } = this.deps;
    const hasCgroups = settings.kubeletCgroups !== '' || settings.systemCgroups !== '';
    for (;;) {
      await this.keep();
      await clock.sleep(hasCgroups ? cgroupPeriodMs : scorePeriodMs, { signal });
    }
  }

  /** Does everything once. */
  async keep(): Promise<void> {
    const { settings, ownPID, runtimePID } = this.deps;
    const { kubeletCgroups, systemCgroups, oomScoreAdj } = settings;
    await this.keepScore(ownPID, oomScoreAdj, 'the agent');
    const pid = runtimePID();
    if (pid !== undefined) await this.keepScore(pid, runtimeOOMScoreAdj, 'the runtime');
    for (const top of this.tops) {
      if (kubeletCgroups !== '') await this.moveInto(join(top, kubeletCgroups), (folder) => this.moveAgent(folder));
      if (systemCgroups !== '') await this.moveInto(join(top, systemCgroups), (folder) => this.moveSystem(top, folder));
    }
  }

  /**
   * The hierarchies that limit processes. systemd's own hierarchy of cgroup v1 is left alone, because systemd finds the
   * processes of a service by it.
   */
  private get tops(): string[] {
    const { controllers, hierarchies, version } = this.deps.mounts;
    return version === 2 ? [...hierarchies] : [...new Set(controllers.values())];
  }

  private async keepScore(pid: number, score: number, process: string): Promise<void> {
    const path = join(this.deps.procFolder, String(pid), 'oom_score_adj');
    const facts = { process, oomScoreAdj: score };
    await this.unlessRefused(
      process,
      'The kernel does not spare this process when memory runs out',
      facts,
      async () => {
        if (Number(await readFile(path, 'utf8')) !== score) await this.deps.files.write(path, String(score));
      },
    );
  }

  private async moveInto(folder: string, moveAll: (folder: string) => Promise<void>): Promise<void> {
    await this.unlessRefused(folder, 'Processes stay out of their cgroup, it is tried again', {}, async () => {
      await this.deps.files.makeFolder(folder);
      await moveAll(folder);
    });
  }

  private async moveAgent(folder: string): Promise<void> {
    const { ownPID } = this.deps;
    if (!(await processesIn(folder)).includes(ownPID)) await this.move(ownPID, folder);
  }

  /** A process that cannot be moved does not keep the others. kubelet: ensureSystemCgroups */
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

  /** Processes of the root cgroup, without those of the kernel, of other PID namespaces and the first process. */
  private async movableIn(top: string): Promise<number[]> {
    const movable: number[] = [];
    for (const pid of await processesIn(top)) if (pid > 1 && !(await this.isOfKernel(pid))) movable.push(pid);
    return movable;
  }

  /** A process of the kernel has no program. Nor has one that has ended. */
  private async isOfKernel(pid: number): Promise<boolean> {
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
      // It has ended.
      if (!hasCode(error, 'ESRCH')) throw error;
    }
  }

  private async unlessRefused(key: string, message: string, facts: object, work: () => Promise<void>): Promise<void> {
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
