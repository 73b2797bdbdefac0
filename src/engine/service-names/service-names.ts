import type { Pod, PodStatus } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import type { Service } from '../../api/values/service.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { errorMessage } from '../../errors.ts';
import type { Faults } from '../../flow/faults.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile, writeInPlace } from '../../files/regular-file.ts';
import { hostsFilePath } from '../network/hosts-file.ts';
import { type NamedPod, serviceLines, withServiceLines } from './service-lines.ts';

/** If a file is larger, a container wrote it. It gets no names until the container starts again. */
const maxHostsFileBytes = 1024 * 1024;

interface Deps {
  services: () => Service[];
  /** Returns the pods that may run, including those that are stopping. */
  pods: () => Pod[];
  isTerminating: (uid: string) => boolean;
  /** Returns the UIDs of the pods that run in the runtime. */
  runningPods: () => string[];
  statusOf: (uid: string) => PodStatus | undefined;
  podDir: (uid: string) => string;
  /** Returns the addresses of pods on the host network, primary first. */
  nodeIPs: () => readonly string[];
  clusterDomain: string;
  faults: Pick<Faults, 'record'>;
  logger: Logger;
}

/** What this agent knows about a pod's hosts file. */
interface HostsFile {
  readonly turn: SerialQueue;
  /** Its Service lines. Undefined before the file was read or written. */
  lines?: readonly string[];
  /** True if its last update failed, which was logged. */
  hasFailed: boolean;
}

/**
 * Writes the names that Services give to pods into the hosts files of all pods. The names work even while no agent
 * runs, and without a DNS server. The kubelet does nothing with Services.
 */
export class ServiceNames {
  private readonly files = new Map<string, HostsFile>();
  private isDue = false;
  private updating: Promise<void> | undefined;

  constructor(private readonly deps: Deps) {}

  /** Writes the pod's hosts file before a container starts: this content plus the names of Services. */
  writeHostsFile({ metadata: { uid, namespace } }: Pod, content: string): Promise<void> {
    const file = this.fileOf(uid);
    return file.turn.run(async () => {
      const lines = this.lines(namespace);
      // Writes in place, because running containers of the pod have this file mounted.
      await writeInPlace(hostsFilePath(this.deps.podDir(uid)), withServiceLines(content, lines), 0o644);
      file.lines = lines;
    });
  }

  /**
   * Writes changed names into the files of running pods. Call this after each change of a Service, of a pod's or the
   * node's address, or of a pod's readiness.
   */
  update(): void {
    this.isDue = true;
    this.updating ??= this.updateAll();
  }

  private async updateAll(): Promise<void> {
    // Combines changes of one moment into one update.
    await Promise.resolve();
    while (this.isDue) {
      this.isDue = false;
      await this.updateOnce().catch((error: unknown) => {
        this.deps.faults.record('names of Services', error);
      });
    }
    this.updating = undefined;
  }

  private async updateOnce(): Promise<void> {
    const { pods, runningPods, statusOf } = this.deps;
    const known = pods();
    const uids = new Set(known.map(({ metadata }) => metadata.uid));
    for (const uid of this.files.keys()) if (!uids.has(uid)) this.files.delete(uid);
    // Pods that ran before the agent started would lose their names until it knows them.
    if (runningPods().some((uid) => statusOf(uid) === undefined)) return;
    const linesOf = new Map<string, string[]>();
    for (const { metadata } of known) {
      const lines = linesOf.get(metadata.namespace) ?? this.lines(metadata.namespace);
      linesOf.set(metadata.namespace, lines);
      await this.updateFile(metadata.uid, lines);
    }
  }

  /** A pod without a file gets its names when its first container starts. */
  private async updateFile(uid: string, lines: readonly string[]): Promise<void> {
    const file = this.fileOf(uid);
    if (file.lines !== undefined && sameLines(file.lines, lines)) return;
    try {
      await file.turn.run(async () => {
        const path = hostsFilePath(this.deps.podDir(uid));
        const bytes = await ifPresent(readRegularFile(path, maxHostsFileBytes));
        if (bytes === undefined) return;
        // Reads it as Latin-1, so that bytes that a container wrote stay the same.
        const content = bytes.toString('latin1');
        const wanted = withServiceLines(content, lines);
        if (wanted !== content) await writeInPlace(path, Buffer.from(wanted, 'latin1'), 0o644);
        file.lines = lines;
      });
      file.hasFailed = false;
    } catch (error) {
      // The next update tries again. A file that is too large or not a regular one is replaced at the next start.
      if (file.hasFailed) return;
      file.hasFailed = true;
      this.deps.logger.warn(
        { podUID: uid, err: error },
        `The names of Services could not be written: ${errorMessage(error)}`,
      );
    }
  }

  private lines(namespace: string): string[] {
    const { services, clusterDomain } = this.deps;
    const declared = services();
    return declared.length === 0 ? [] : serviceLines(declared, this.namedPods(), { namespace, clusterDomain });
  }

  private namedPods(): NamedPod[] {
    const { pods, isTerminating, statusOf, nodeIPs } = this.deps;
    return pods().flatMap(({ metadata: { uid, namespace, name, labels = {} }, spec }) => {
      const status = statusOf(uid);
      const hasEnded = isPodPhaseTerminal(status?.phase);
      if (status === undefined || hasEnded || isTerminating(uid)) return [];
      const ips = spec.hostNetwork === true ? nodeIPs() : (status.podIPs ?? []).flatMap(({ ip = '' }) => ip);
      const { hostname = '', subdomain = '' } = spec;
      return [{ namespace, name, labels, hostname, subdomain, ips, isReady: isPodReady(status) }];
    });
  }

  private fileOf(uid: string): HostsFile {
    let file = this.files.get(uid);
    if (file === undefined) this.files.set(uid, (file = { turn: new SerialQueue(), hasFailed: false }));
    return file;
  }
}

const sameLines = (a: readonly string[], b: readonly string[]): boolean => a.join('\n') === b.join('\n');
