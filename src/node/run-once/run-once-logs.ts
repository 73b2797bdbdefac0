import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Container, Pod, PodSpec } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { writeFully } from '../../cri/streaming/write-fully.ts';
import { areOpenForWriting } from './are-open-for-writing.ts';
import { containerLogsDirectory } from '../../engine/container/log-paths.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { LinePrefixer } from '../../engine/logs/line-prefixer.ts';
import { readLogs } from '../../engine/logs/read-logs.ts';
import type { EngineView } from '../../engine/view/snapshot.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';

/** Milliseconds to wait for a runtime to write a container's last lines. */
const lastLinesMs = 5000;
const pollPeriodMs = 20;
/** Milliseconds that the reader of our output has to read the rest, once the run is cut off. */
const readerMs = 5000;

interface Deps {
  pods: readonly Pod[];
  /** True if a single container besides init containers runs at a time. Absent to count those of `pods`. */
  isSingle?: boolean;
  podLogsDir: string;
  /** Receive the output of containers. */
  stdout: Writable;
  stderr: Writable;
  /** True for prefixes in colours, one for each container. */
  isColoured: boolean;
  /** Changes each line of output. Undefined to leave output unchanged. */
  guard?: ((line: Buffer) => Buffer) | undefined;
  clock: Clock;
}

const colours = ['cyan', 'yellow', 'green', 'magenta', 'blue'] as const;

/**
 * Shows the output of containers live. Lines of a single container, besides init containers, are unchanged; others
 * start with pod and container. A log that cannot be read is reported once and does not fail the pods.
 */
export class RunOnceLogs {
  /** By pod UID and container name. */
  private readonly followed = new Map<string, FollowedLog>();
  /** Aborted when the rest of the output is no longer shown. */
  private readonly givenUp = new AbortController();
  private readonly pods: Pod[];
  /** True if each line starts with its container, except those of an only one. */
  readonly hasPrefixes: boolean;

  constructor(private readonly deps: Deps) {
    this.pods = [...deps.pods];
    const mainContainers = this.pods.map(({ spec }) => mainContainersOf(spec).length);
    const isSingle = deps.isSingle ?? this.pods.length === 1;
    this.hasPrefixes = !isSingle || mainContainers.some((count) => count !== 1);
    // The reader closed our output.
    for (const stream of [deps.stdout, deps.stderr]) stream.on('error', () => undefined);
  }

  /** Follows each container from its start. Returns a function that stops following new ones. */
  follow(view: Pick<EngineView, 'subscribe'>): () => void {
    return view.subscribe((event) => {
      if (event.type !== 'ContainerStarted' && event.type !== 'ContainerDied') return;
      const pod = this.pods.find(({ metadata }) => metadata.uid === event.pod.uid);
      if (pod !== undefined && event.containerName !== undefined) this.show(pod, event.containerName);
    });
  }

  /** Adds the pods that are new. */
  add(pods: readonly Pod[]): void {
    const known = new Set(this.pods.map(({ metadata }) => metadata.uid));
    this.pods.push(...pods.filter(({ metadata }) => !known.has(metadata.uid)));
  }

  /** Follows the containers whose start was not noticed, if they have a log. */
  followAll(): void {
    for (const pod of this.pods) for (const { name } of initAndRegularContainers(pod.spec)) this.show(pod, name);
  }

  /**
   * Resolves when the logs of the exited containers of these pods are complete and shown. Removing the pods would
   * delete unread files. The reader of our output may be slow or stopped, so `interrupted` stops the wait for it. The
   * time-out stops it `readerMs` later.
   */
  async shown(pods: readonly Pod[], { interrupted, timedOut }: CutSignals): Promise<void> {
    const { clock, podLogsDir } = this.deps;
    const untilMs = clock.monotonic() + lastLinesMs;
    const ended = pods.flatMap(endedContainers);
    const paths = ended.map(({ pod, name, attempt }) =>
      join(containerLogsDirectory(podLogsDir, pod.metadata, name), `${String(attempt)}.log`),
    );
    while (clock.monotonic() < untilMs && (await areOpenForWriting(paths))) await clock.sleep(pollPeriodMs);
    const all = ended.flatMap(({ pod, name }) => this.followed.get(keyOf(pod.metadata.uid, name)) ?? []);
    // Rejects only on the interrupt.
    await unlessAborted(this.isWritten(finish(all), timedOut), interrupted).catch(() => undefined);
  }

  /**
   * Shows the rest of the logs, up to their current sizes. Resolves to true when it is written. Once the run is `cut`,
   * the reader has `readerMs` for that. After that nothing more is shown.
   */
  async end(cut: AbortSignal): Promise<boolean> {
    const isShown = await this.isWritten(finish([...this.followed.values()]), cut);
    if (isShown) return true;
    this.givenUp.abort(new Error('the output is not read'));
    this.deps.stderr.write('warning: the output of containers was cut off, because nothing reads it\n');
    return false;
  }

  /** Resolves to false if `written` does not resolve within `readerMs` after `cut` is aborted. */
  private async isWritten(written: Promise<void>, cut: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    let cancel = (): void => undefined;
    const begin = (): void => {
      cancel = this.deps.clock.after(readerMs, () => {
        late.abort();
      });
    };
    if (cut.aborted) begin();
    cut.addEventListener('abort', begin, { once: true });
    // Rejects only on the limit.
    const isWritten = await unlessAborted(written, late.signal).then(
      () => true,
      () => false,
    );
    cut.removeEventListener('abort', begin);
    cancel();
    return isWritten;
  }

  private show(pod: Pod, container: string): void {
    const key = keyOf(pod.metadata.uid, container);
    if (this.followed.has(key)) return;
    const folder = containerLogsDirectory(this.deps.podLogsDir, pod.metadata, container);
    const isPlain = !this.hasPrefixes && mainContainersOf(pod.spec).some(({ name }) => name === container);
    const prefix = isPlain ? undefined : this.prefixOf(key, `[pod/${pod.metadata.name}/${container}]`);
    const lastCall = new AbortController();
    const done = this.read(folder, prefix, lastCall.signal)
      .then((hasLog) => {
        // The container may start later.
        if (!hasLog) this.followed.delete(key);
      })
      .catch((error: unknown) => {
        if (this.givenUp.signal.aborted || hasCode(error, 'EPIPE')) return;
        this.deps.stderr.write(`warning: the log of container ${container} cannot be shown: ${errorMessage(error)}\n`);
      });
    this.followed.set(key, { done, lastCall });
  }

  private prefixOf(key: string, name: string): string {
    const all = this.pods.flatMap((pod) =>
      initAndRegularContainers(pod.spec).map((container) => keyOf(pod.metadata.uid, container.name)),
    );
    const colour = colours[all.indexOf(key) % colours.length] ?? 'cyan';
    return `${this.deps.isColoured ? styleText(colour, name, { validateStream: false }) : name} `;
  }

  /** Resolves to false if the container has no log. */
  private async read(folder: string, prefix: string | undefined, lastCall: AbortSignal): Promise<boolean> {
    const [first] = await logFiles(folder);
    if (first === undefined) return false;
    const streams = { stdout: this.deps.stdout, stderr: this.deps.stderr };
    const { guard } = this.deps;
    const newPrefixer = (): LinePrefixer => new LinePrefixer(prefix ?? '', { guard });
    const isRaw = prefix === undefined && guard === undefined;
    const lines = isRaw ? undefined : { stdout: newPrefixer(), stderr: newPrefixer() };
    const { signal } = this.givenUp;
    await readLogs({ path: join(folder, first), follow: true, lastCall, signal }, (bytes, stream) =>
      writeFully(streams[stream], lines === undefined ? bytes : lines[stream].add(bytes)),
    );
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = lines?.[stream].rest();
      if (rest !== undefined && rest.length > 0) await writeFully(streams[stream], Buffer.concat([rest, newline]));
    }
    return true;
  }
}

/** Signals that cut off a run. */
export interface CutSignals {
  interrupted: AbortSignal;
  timedOut: AbortSignal;
}

/** A log that is shown until `lastCall` is aborted. Its content up to that moment is still shown. */
interface FollowedLog {
  done: Promise<void>;
  lastCall: AbortController;
}

async function finish(logs: readonly FollowedLog[]): Promise<void> {
  for (const { lastCall } of logs) lastCall.abort();
  await Promise.all(logs.map(({ done }) => done));
}

/** The exited containers of a pod that do not run again yet, each with its newest instance. */
function endedContainers(pod: Pod): { pod: Pod; name: string; attempt: number }[] {
  return initAndRegularStatuses(pod.status)
    .filter(({ state, lastState }) => state?.running === undefined && (state?.terminated ?? lastState?.terminated))
    .map(({ name, restartCount }) => ({ pod, name, attempt: restartCount }));
}

/** The containers that are not init containers, with sidecars. */
const mainContainersOf = ({ containers, initContainers = [] }: PodSpec): Container[] => [
  ...containers,
  ...initContainers.filter(isSidecar),
];

const newline = Buffer.from('\n');

const keyOf = (podUID: string, container: string): string => `${podUID}/${container}`;

/** The log files of all instances of a container, oldest first. */
async function logFiles(folder: string): Promise<string[]> {
  // The folder is deleted, or not created yet.
  const names = await readdir(folder).catch(() => []);
  // During rotation, a log has only its rotated files.
  const logs = new Set(names.flatMap((name) => /^\d+\.log(?=\.|$)/.exec(name)?.[0] ?? []));
  return [...logs].sort((a, b) => Number.parseInt(a) - Number.parseInt(b));
}
