import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import { Agent, isReady, nodeName } from '../e2e/agent.ts';
import { hostFolder, makePod, serve, shell } from '../e2e/manifests.ts';
import { cache } from '../e2e/program.ts';
import { type LoopDisk, mountLoopDisk } from '../support/loop-disk.ts';

const servers = ['s0', 's1', 's2', 's3'];
const maxJobs = 3;

/**
 * Cuts the power of a box at random moments: its disk is copied while pods start, stop and write, everything is killed,
 * and the box boots from the copy. Throws if a pod does not run in the end or restarted more often than the box, or if
 * a job that had completed ran again.
 */
export async function runPowerCuts(
  random: SeededRandom,
  rounds: number,
  report: (line: string) => void,
): Promise<number> {
  const disk = await mountLoopDisk({ mebibytes: 400 });
  // Not on the disk of the box: it remembers what ran before a cut.
  const journal = await mkdtemp('/tmp/kts-journal-');
  const agent = await Agent.create({ folder: disk.folder, flags: ['--prune'] });
  try {
    const box = new Box(agent, disk, { journal, random });
    await box.start();
    for (let round = 0; round < rounds; round += 1) report(await box.round(round));
    return rounds;
  } catch (error) {
    await writeFile(join(cache, 'chaos-power.log'), agent.logText());
    throw error;
  } finally {
    await Agent.endEverything(agent);
    await disk.remove();
    await rm(journal, { recursive: true });
  }
}

class Box {
  /** Names of the pods with a manifest on the disk. */
  private readonly declared = new Set<string>();
  private jobs = 0;
  private cuts = 0;

  constructor(
    private readonly agent: Agent,
    private readonly disk: LoopDisk,
    private readonly deps: { journal: string; random: SeededRandom },
  ) {}

  /** The first start loads the images, which the box has on its disk before it is shipped. */
  async start(): Promise<void> {
    await this.agent.start();
    await this.declare('s0');
    await this.agent.untilReady('s0');
    await execa('sync', ['-f', this.disk.folder]);
  }

  /** Resolves to a line about what happened. */
  async round(round: number): Promise<string> {
    const { random } = this.deps;
    await this.renewJobs();
    const cutAt = performance.now() + random.below(4000);
    while (performance.now() < cutAt) {
      const name = random.pick(servers);
      await (this.declared.has(name) && random.chance(0.5) ? this.remove(name) : this.declare(name));
      await delay(random.below(500));
    }
    const { pods } = await this.agent.until(() => true);
    const completed = new Map<string, number>();
    for (const { pod } of pods.filter(isComplete)) completed.set(pod.metadata.uid, await this.runsOf(pod.metadata.uid));
    await this.agent.freeze();
    await this.disk.copy();
    await this.agent.powerOff();
    await this.disk.bootFromCopy();
    this.cuts += 1;

    const booted = performance.now();
    await this.agent.start();
    const settled = await this.agent.until((snapshot) => this.isSettled(snapshot.pods));
    const seconds = ((performance.now() - booted) / 1000).toFixed(1);
    for (const [uid, runs] of completed)
      if ((await this.runsOf(uid)) !== runs) throw new Error(`round ${round}: the completed job ${uid} ran again`);
    for (const { pod } of settled.pods) {
      const restartCount = pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
      if (restartCount > this.cuts) throw new Error(`round ${round}: ${pod.metadata.name} restarts in a loop`);
    }
    return `power cut ${round}: ${completed.size} completed jobs, ${this.declared.size} pods, settled after ${seconds} s\n`;
  }

  private isSettled(pods: readonly PodSnapshot[]): boolean {
    const isDone = (name: string): boolean => {
      const found = pods.find(({ pod }) => pod.metadata.name === `${name}-${nodeName}`);
      return found !== undefined && (servers.includes(name) ? isReady(found) : hasEnded(found));
    };
    return pods.length === this.declared.size && [...this.declared].every(isDone);
  }

  /** Removes the older jobs and declares new ones, some of which complete before the cut. */
  private async renewJobs(): Promise<void> {
    const jobs = [...this.declared].filter((name) => !servers.includes(name));
    for (const name of jobs.slice(0, Math.max(0, jobs.length - 1))) await this.remove(name);
    for (const seconds of this.deps.random.times(1, maxJobs, () => this.deps.random.pick([0, 0.5, 2]))) {
      this.jobs += 1;
      await this.declare(`job${this.jobs}`, `sleep ${seconds}; sync -f /data`);
    }
  }

  private async declare(name: string, script = serve): Promise<void> {
    const isServer = servers.includes(name);
    const write = `echo $UID_OF_POD >>/journal/runs; (while :; do date >>/data/log; sleep 0.1; done) &`;
    const env = [{ name: 'UID_OF_POD', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }];
    const volumeMounts = [
      { name: 'journal', mountPath: '/journal' },
      { name: 'data', mountPath: '/data' },
    ];
    const pod = makePod(name, {
      restartPolicy: isServer ? 'Always' : this.deps.random.pick(['Never', 'OnFailure']),
      containers: [shell('main', `${write}\n${script}`, { env, volumeMounts })],
      volumes: [hostFolder('journal', this.deps.journal), { name: 'data', emptyDir: {} }],
    });
    await this.agent.write(`${name}.yaml`, pod);
    await this.save(`${name}.yaml`);
    this.declared.add(name);
  }

  private async remove(name: string): Promise<void> {
    await this.agent.remove(`${name}.yaml`);
    await this.save();
    this.declared.delete(name);
  }

  /** Whoever brings manifests to a box flushes them. */
  private async save(fileName = '.'): Promise<void> {
    for (const path of [join(this.agent.manifestsFolder, fileName), this.agent.manifestsFolder]) {
      const file = await open(path);
      await file.sync();
      await file.close();
    }
  }

  private async runsOf(uid: string): Promise<number> {
    const runs = await readFile(join(this.deps.journal, 'runs'), 'utf8').catch(() => '');
    return runs.split('\n').filter((line) => line === uid).length;
  }
}

/** A job that must not run twice has failed if a cut interrupted it. */
const hasEnded = ({ pod }: PodSnapshot): boolean => ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '');
const isComplete = ({ pod }: PodSnapshot): boolean => pod.status?.phase === 'Succeeded';
