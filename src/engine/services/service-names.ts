import type { Pod } from '../../api/types.ts';
import { errorMessage } from '../../errors.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile, writeInPlace } from '../../files/regular-file.ts';
import { hostsFilePath } from '../network/hosts-file.ts';
import { withServiceLines } from './service-lines.ts';

/** If a file is larger, a container wrote it. It gets no names until the container starts again. */
const maxHostsFileBytes = 1024 * 1024;

interface Deps {
  /** Returns the pods that may run, including those that are stopping. */
  pods: () => Pod[];
  /** Returns the lines of the hosts files of a namespace. */
  lines: (namespace: string) => string[];
  podDir: (uid: string) => string;
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
 * Writes the names of Services into the hosts files of all pods. The names work even while no agent runs, and without a
 * DNS server. The kubelet does nothing with Services.
 */
export class ServiceNames {
  private readonly files = new Map<string, HostsFile>();

  constructor(private readonly deps: Deps) {}

  /** Writes the pod's hosts file before a container starts: this content plus the names of Services. */
  writeHostsFile({ metadata: { uid, namespace } }: Pod, content: string): Promise<void> {
    const file = this.fileOf(uid);
    return file.turn.run(async () => {
      const lines = this.deps.lines(namespace);
      // Writes in place, because running containers of the pod have this file mounted.
      await writeInPlace(hostsFilePath(this.deps.podDir(uid)), withServiceLines(content, lines), 0o644);
      file.lines = lines;
    });
  }

  /** Writes changed names into the files of running pods. */
  async update(): Promise<void> {
    const { pods, lines } = this.deps;
    const known = pods();
    const uids = new Set(known.map(({ metadata }) => metadata.uid));
    for (const uid of this.files.keys()) if (!uids.has(uid)) this.files.delete(uid);
    const linesOf = new Map<string, string[]>();
    for (const { metadata } of known) {
      const wanted = linesOf.get(metadata.namespace) ?? lines(metadata.namespace);
      linesOf.set(metadata.namespace, wanted);
      await this.updateFile(metadata.uid, wanted);
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
        // The folder of the pod may be removed at the same time, and a new file would prevent that.
        const written = Buffer.from(wanted, 'latin1');
        if (wanted !== content) await ifPresent(writeInPlace(path, written, 0o644, { mayCreate: false }));
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

  private fileOf(uid: string): HostsFile {
    let file = this.files.get(uid);
    if (file === undefined) this.files.set(uid, (file = { turn: new SerialQueue(), hasFailed: false }));
    return file;
  }
}

const sameLines = (a: readonly string[], b: readonly string[]): boolean => a.join('\n') === b.join('\n');
