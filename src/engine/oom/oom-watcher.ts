import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import type { KubeletEvent } from '../view/events.ts';
import { reasons } from '../view/reasons.ts';
import { cgroupSteps } from './cgroup-steps.ts';
import type { KernelLog } from './kernel-log.ts';
import { type KernelOOM, KernelOOMs } from './kernel-ooms.ts';

/** Begins every message about a container, so that a history counts them as one kind. */
const outOfMemory = 'Out of memory';

/** Waits this long before skipping old entries of the kernel's log, so that the first pods start without delay. */
const firstReadAfterMs = 1000;
/**
 * Period between reads of the kernel's log, for processes outside of pods. Node cannot wait for that device. A report
 * of a kill in a pod triggers a read at once.
 */
const readPeriodMs = 10_000;
/** Number of records read before yielding to other work. A record takes some 10 µs. */
const recordsPerBatch = 64;
/** Delays between reads of the kernel's log after a runtime reported a kill. A slow serial console delays that log. */
const kernelWaitsMs = [0, 50, 200, 1000];
/** More kills of a container within this time are counted, not reported. */
const quietMs = 10_000;
/** All reports of one kill arrive within this time, even on an overloaded machine. */
const lateReportMs = 120_000;
/** How many recent kills of a container can be matched with later reports. */
const maxAwaiting = 64;
/** Runtimes put a container directly below its pod, or one cgroup deeper. Containers choose the names below that. */
const maxStepsToContainer = 2;
/** How many containers' latest reports are remembered. */
const maxRemembered = 1000;

/** A container of a pod of this agent. */
export interface OOMContainer {
  id: string;
  pod: PodRef;
  name: string;
  /** Memory limit of its manifest, such as `16Mi`. */
  limit: string | undefined;
}

interface Deps {
  /** Opens the kernel's log at its oldest message. Throws if this machine does not let us read it. */
  openKernelLog: () => KernelLog;
  /** Resolves with undefined if the id does not belong to a container of this agent's pods. */
  findContainer: (id: string) => Promise<OOMContainer | undefined>;
  /** Finds the pod of this agent with this UID. */
  findPod: (uid: string) => PodRef | undefined;
  clock: Clock;
  emit: Emit;
  logger: Logger;
}

/** A source of kill reports. It has one report per kill, or one for several. */
type Reporter = 'kernel' | 'runtime' | 'end' | 'cgroup' | 'podCgroup';

interface Kill {
  atMonotonic: number;
  /** The sources that reported it. */
  reportedBy: Set<Reporter>;
}

/** Kills of one container that were reported or counted. */
interface Reported {
  atMonotonic: number;
  /** Number of kills since then. */
  more: number;
  /** The latest ones, oldest first. */
  kills: Kill[];
}

/**
 * Reports every process that the kernel kills because memory ran out. Three sources report them: the kernel's log, the
 * runtime, and the cgroups of pods. Only the log has the process and its memory, so a report from the others makes us
 * read the log. If the log does not have the kill, it is reported without these details. kubelet:
 * oom/oom_watcher_linux.go
 *
 * INVARIANT: all reports of one kill lead to one event. A report belongs to the oldest kill of its container that its
 * source has not reported yet; if there is none, it is a new kill.
 */
export class OOMWatcher {
  private readonly ooms = new KernelOOMs();
  /** By container id, or by pod UID for kills in an unknown container of a pod. Newest last. */
  private readonly reported = new Map<string, Reported>();
  private readonly startedAt: number;
  private kernelLog: KernelLog | undefined;
  private reading: Promise<void> = Promise.resolve();

  constructor(private readonly deps: Deps) {
    this.startedAt = deps.clock.now();
  }

  /** Reads the kernel's log until the signal is aborted. Resolves at once if this machine does not let us read it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    await clock.sleep(firstReadAfterMs, { signal });
    let kernelLog;
    try {
      kernelLog = this.deps.openKernelLog();
    } catch (error) {
      logger.info({ err: errorMessage(error) }, 'Events of processes killed for memory name no process');
      return;
    }
    try {
      // Kills from before the start belong to an earlier agent.
      await readUpToNow(kernelLog, () => Promise.resolve(), signal);
      this.kernelLog = kernelLog;
      for (;;) {
        await clock.sleep(untilTick(clock, readPeriodMs), { signal });
        await this.readKernelLog(signal);
      }
    } finally {
      this.kernelLog = undefined;
      kernelLog.close();
    }
  }

  /** Called when the runtime reports that a process of this container was killed. Does not reject. */
  killedIn(containerID: string, signal: AbortSignal, reporter: Reporter = 'runtime'): Promise<void> {
    return this.reporting(signal, async () => {
      const container = await this.deps.findContainer(containerID);
      if (container === undefined || (await this.isOfKnownKill(containerID, reporter, signal))) return;
      const { pod, name, limit } = container;
      this.report(containerID, { pod, containerName: name, message: plainOOMText(limit), isSystem: false, reporter });
    });
  }

  /** Called when the cgroups of this pod and of these containers count a kill. Does not reject. */
  async killedInPod(podUID: string, containerIDs: readonly string[], signal: AbortSignal): Promise<void> {
    for (const id of containerIDs) await this.killedIn(id, signal, 'cgroup');
    if (containerIDs.length > 0) return;
    await this.reporting(signal, async () => {
      const pod = this.deps.findPod(podUID);
      if (pod === undefined || (await this.isOfKnownKill(podUID, 'podCgroup', signal))) return;
      this.report(podUID, { pod, message: plainOOMText(undefined), isSystem: false, reporter: 'podCgroup' });
    });
  }

  /** Called when a container exits, because runtimes without an event for kills report them with the exit. */
  async containerDied(event: KubeletEvent, signal: AbortSignal): Promise<void> {
    if (event.type !== 'ContainerDied' || event.end?.reason !== 'OOMKilled') return;
    // An earlier agent reported it, or a kill in this container was already reported, perhaps long ago.
    if (event.end.finishedAt < this.startedAt || this.reported.has(event.id)) return;
    await this.killedIn(event.id, signal, 'end');
  }

  private async reporting(signal: AbortSignal, report: () => Promise<void>): Promise<void> {
    try {
      await report();
    } catch (error) {
      if (!signal.aborted) this.deps.logger.warn({ err: errorMessage(error) }, 'Reporting a killed process failed');
    }
  }

  /** True if this report duplicates a known kill in this container or pod, or one that the kernel is just logging. */
  private async isOfKnownKill(key: string, reporter: Reporter, signal: AbortSignal): Promise<boolean> {
    for (const waitMs of kernelWaitsMs) {
      if (this.addReport(key, reporter)) return true;
      if (this.kernelLog === undefined) return false;
      if (waitMs > 0) await this.deps.clock.sleep(waitMs, { signal });
      await this.readKernelLog(signal);
    }
    return this.addReport(key, reporter);
  }

  /**
   * Adds the report to the oldest kill that this source has not reported. Returns false if it has reported every kill.
   */
  private addReport(key: string, reporter: Reporter): boolean {
    const sinceMonotonic = this.deps.clock.monotonic() - lateReportMs;
    const { kills = [] } = this.reported.get(key) ?? {};
    const kill = kills.find(
      ({ atMonotonic, reportedBy }) => atMonotonic >= sinceMonotonic && !reportedBy.has(reporter),
    );
    kill?.reportedBy.add(reporter);
    return kill !== undefined;
  }

  /** One read runs at a time. */
  private readKernelLog(signal: AbortSignal): Promise<void> {
    const read = this.reading.then(async () => {
      if (this.kernelLog === undefined) return;
      await readUpToNow(this.kernelLog, (message) => this.handleKill(this.ooms.parse(message)), signal);
      await this.handleKill(this.ooms.flush());
    });
    this.reading = read.catch(() => undefined);
    return read;
  }

  /** Reports a kill to the pod, and to the node if the machine ran out of memory. */
  private async handleKill(oom: KernelOOM | undefined): Promise<void> {
    if (oom === undefined) return;
    const { emit, logger } = this.deps;
    logger.debug({ ...oom }, 'The kernel killed a process because memory ran out');
    if (oom.isSystem) {
      const message = systemOOMText(oom);
      emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.systemOOM, message, hint: oomHint(true) });
    }
    const steps = cgroupSteps(oom.cgroup ?? '');
    const { isSystem } = oom;
    const ofPod = steps.findIndex(({ podUID = '' }) => this.deps.findPod(podUID) !== undefined);
    const pod = this.deps.findPod(steps[ofPod]?.podUID ?? '');
    if (pod === undefined) return;
    for (const { containerID } of steps.slice(ofPod + 1, ofPod + 1 + maxStepsToContainer)) {
      const container = await this.deps.findContainer(containerID);
      if (container?.pod.uid !== pod.uid) continue;
      const message = containerOOMText(oom, pod.uid, containerID);
      if (this.addReport(containerID, 'kernel')) return;
      this.report(containerID, { pod, containerName: container.name, message, isSystem, reporter: 'kernel' });
      return;
    }
    if (this.addReport(pod.uid, 'kernel')) return;
    this.report(pod.uid, { pod, message: containerOOMText(oom, pod.uid, ''), isSystem, reporter: 'kernel' });
  }

  /** Reports a new kill when its first report arrives. */
  private report(
    key: string,
    {
      isSystem,
      message,
      reporter,
      ...where
    }: { pod: PodRef; containerName?: string; message: string; isSystem: boolean; reporter: Reporter },
  ): void {
    const { clock, emit } = this.deps;
    const kill: Kill = { atMonotonic: clock.monotonic(), reportedBy: new Set([reporter]) };
    const last = this.reported.get(key);
    if (last !== undefined && kill.atMonotonic - last.atMonotonic < quietMs) {
      last.more += 1;
      for (const one of new Set([where.pod.uid, key])) this.awaitReports(this.reported.get(one), kill);
      return;
    }
    for (const one of new Set([where.pod.uid, key])) this.remember(one, kill);
    const more =
      last === undefined || last.more === 0 ? '' : `; at least ${last.more} more kills since the last report`;
    const recorded = { type: 'Recorded', eventType: 'Warning', reason: reasons.oomKilling } as const;
    emit({ ...recorded, message: message + more, hint: oomHint(isSystem), ...where });
  }

  private remember(key: string, kill: Kill): void {
    const earlier = this.reported.get(key)?.kills ?? [];
    this.reported.delete(key);
    const kills = earlier.filter(({ atMonotonic }) => atMonotonic >= kill.atMonotonic - lateReportMs);
    const reported = { atMonotonic: kill.atMonotonic, more: 0, kills };
    this.reported.set(key, reported);
    this.awaitReports(reported, kill);
    const [oldest] = this.reported.keys();
    if (oldest !== undefined && this.reported.size > maxRemembered) this.reported.delete(oldest);
  }

  private awaitReports(reported: Reported | undefined, kill: Kill): void {
    reported?.kills.push(kill);
    if ((reported?.kills.length ?? 0) > maxAwaiting) reported?.kills.shift();
  }
}

/** Passes on the kernel's messages up to now, yielding to other work in between. */
async function readUpToNow(
  kernelLog: KernelLog,
  take: (message: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { messages, isAtEnd } = kernelLog.read(recordsPerBatch);
    for (const message of messages) await take(message);
    if (isAtEnd) return;
    await nextTurn();
  }
}

/** Returns the message of a node's event. kubelet: oom/oom_watcher_linux.go Start */
function systemOOMText({ name, pid }: KernelOOM): string {
  return `System OOM encountered, victim process: ${name}, pid: ${pid}`;
}

/**
 * Returns the message about a kill in a container, such as `Out of memory: killed process 7 (app), anon-rss 60Mi, …`.
 */
function containerOOMText(oom: KernelOOM, podUID: string, containerID: string): string {
  const { pid, name, anonKi, fileKi, shmemKi, isWholeCgroup } = oom;
  const others = isWholeCgroup ? ' and all other processes of its cgroup' : '';
  const memory = `anon-rss ${kibibytes(anonKi)}, file-rss ${kibibytes(fileKi)}, shmem-rss ${kibibytes(shmemKi)}`;
  return `${outOfMemory}: killed process ${pid} (${name})${others}, ${memory}; ${cause(oom, podUID, containerID)}`;
}

/** Returns the message if the kernel's log does not have the kill. `limit` comes from the container's manifest. */
function plainOOMText(limit: string | undefined): string {
  return `${outOfMemory}: a process was killed${limit === undefined ? '' : `; limit of the container ${limit}`}`;
}

/** Returns a hint for the user. */
function oomHint(isSystem: boolean): string {
  return isSystem
    ? 'Give the pods memory limits, or reserve more memory for the system with --system-reserved.'
    : 'Find out why its memory grows, or raise resources.limits.memory.';
}

function cause({ isSystem, limitCgroup, limitKi }: KernelOOM, podUID: string, containerID: string): string {
  if (isSystem) return 'the machine ran out of memory';
  const limit = limitKi === undefined ? '' : ` ${kibibytes(limitKi)}`;
  if (limitCgroup === undefined) return 'a memory limit was reached';
  const steps = cgroupSteps(limitCgroup);
  if (steps.some((step) => step.containerID === containerID)) return `limit of the container${limit}`;
  if (steps.some((step) => step.podUID === podUID)) return `limit of the pod${limit}`;
  return `limit of the cgroup ${limitCgroup}${limit}`;
}

function kibibytes(amount: number): string {
  if (amount === 0) return '0';
  return amount % 1024 === 0 ? `${amount / 1024}Mi` : `${amount}Ki`;
}
