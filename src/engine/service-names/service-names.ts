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

/** Larger files were written by a container. They get no names until its next start. */
const maxHostsFileBytes = 1024 * 1024;

interface Deps {
  services: () => Service[];
  /** Pods that may run, with pods that are on their way out. */
  pods: () => Pod[];
  isTerminating: (uid: string) => boolean;
  /** UIDs of the pods that run in the runtime. */
  runningPods: () => string[];
  statusOf: (uid: string) => PodStatus | undefined;
  podDir: (uid: string) => string;
  /** Addresses of pods on the host network, primary first. */
  nodeIPs: readonly string[];
  clusterDomain: string;
  faults: Pick<Faults, 'record'>;
  logger: Logger;
}

/** What this agent knows of the hosts file of one pod. */
interface HostsFile {
  readonly turn: SerialQueue;
  /** Its lines of Services. Undefined before the file was read or written. */
  lines?: readonly string[];
  /** True if its last update failed, which was logged. */
  hasFailed: boolean;
}

/**
 * Writes the names that Services give to pods into the hosts files of all pods. The names work while no agent runs, and
 * without a server of DNS. The kubelet knows no Services.
 */
export class ServiceNames {
  private readonly files = new Map<string, HostsFile>();
  private isDue = false;
  private updating: Promise<void> | undefined;

  constructor(private readonly deps: Deps) {}

  /** Writes the pod's hosts file for the start of a container: this content, and the names of Services. */
  writeHostsFile({ metadata: { uid, namespace } }: Pod, content: string): Promise<void> {
    const file = this.fileOf(uid);
    return file.turn.run(async () => {
      const lines = this.lines(namespace);
      // Written in place, because running containers of the pod have this file mounted.
      await writeInPlace(hostsFilePath(this.deps.podDir(uid)), withServiceLines(content, lines), 0o644);
      file.lines = lines;
    });
  }

  /**
   * Writes changed names into the files of running pods. To be called after each change of a Service, of a pod's
   * address, or of its readiness.
   */
  update(): void {
    this.isDue = true;
    this.updating ??= this.updateAll();
  }

  private async updateAll(): Promise<void> {
    // Changes of one moment are one update.
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
        // As Latin-1, so that bytes which a container wrote stay the same.
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
      const ips = spec.hostNetwork === true ? nodeIPs : (status.podIPs ?? []).flatMap(({ ip = '' }) => ip);
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
