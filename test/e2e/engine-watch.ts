import { EventEmitter, once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { EngineSnapshot, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { AgentSilentError } from '../../src/server/control/agent-errors.ts';
import { fetchSnapshot } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { deadlineMs } from './deadline.ts';

/** Follows a running agent over its control socket, as any client could. */
export class EngineWatch {
  readonly #rootDir: string;
  readonly #response: IncomingMessage;
  readonly #troubles: () => readonly string[];
  readonly #changes = new EventEmitter();
  #isOpen = true;

  private constructor(rootDir: string, response: IncomingMessage, troubles: () => readonly string[]) {
    this.#rootDir = rootDir;
    this.#response = response;
    this.#troubles = troubles;
    // One listener per wait.
    this.#changes.setMaxListeners(0);
    const lines = createInterface({ input: response });
    lines.on('line', () => this.#changes.emit('change'));
    // If the agent is killed, its stream ends without a last chunk.
    for (const stream of [response, lines]) stream.on('error', () => undefined);
    response.on('close', () => {
      this.#isOpen = false;
      this.#changes.emit('change');
    });
  }

  /** `troubles` returns what went wrong, oldest first. */
  static async open(rootDir: string, troubles: () => readonly string[] = () => []): Promise<EngineWatch> {
    const sent = request({ socketPath: controlSocketPath(rootDir), path: '/v1/events', agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new EngineWatch(rootDir, response, troubles);
  }

  close(): void {
    this.#response.destroy();
  }

  /**
   * Resolves to the first snapshot for which `isSo` is true, checked now and after every event. `waitedFor` names it in
   * the error if it never comes.
   */
  async until(isSo: (snapshot: EngineSnapshot) => boolean, waitedFor = isSo.toString()): Promise<EngineSnapshot> {
    const deadline = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const changed = once(this.#changes, 'change', { signal: deadline }).catch(() => undefined);
      const snapshot = await this.#snapshot(deadline);
      if (snapshot !== undefined && isSo(snapshot)) return snapshot;
      if (!this.#isOpen) {
        throw new Error([`the agent ended before ${waitedFor}`, ...bounded(this.#troubles())].join('\n'));
      }
      await changed;
      if (deadline.aborted) throw new Error(`waited in vain for ${waitedFor}\n${describe(snapshot, this.#troubles())}`);
    }
  }

  /** Asks until the agent answers. On cores that other tests use too, it may take longer than a command waits. */
  async #snapshot(deadline: AbortSignal): Promise<EngineSnapshot | undefined> {
    for (;;) {
      try {
        return await fetchSnapshot(controlSocketPath(this.#rootDir));
      } catch (error) {
        if (!(error instanceof AgentSilentError) || deadline.aborted) throw error;
      }
    }
  }
}

/** Maximum number of lines of each kind in a failure message. The first ones often contain the cause. */
const maxLines = 20;
const maxLineLength = 400;

function describe(snapshot: EngineSnapshot | undefined, troubles: readonly string[]): string {
  if (snapshot === undefined) return ['the agent does not answer', ...bounded(troubles)].join('\n');
  const { runtime, sources, faults, pods } = snapshot;
  const broken = [runtime.error, runtime.networkError].filter((error) => error !== undefined);
  return [
    ...broken.map((error) => `runtime: ${error}`),
    ...sources.map(
      ({ where, ready, pods: count, problems }) =>
        `source ${where}: ${ready ? `${count} pods` : 'not read yet'} ${problems.map(({ message }) => message).join('; ')}`,
    ),
    ...faults.map((fault) => `fault: ${JSON.stringify(fault)}`),
    ...bounded(pods.flatMap(podLines)),
    'warnings and errors in the log:',
    ...bounded(troubles),
  ].join('\n');
}

function podLines({ pod: { metadata, status = {} }, worker, rejection }: PodSnapshot): string[] {
  const { lastSyncError, ...state } = worker;
  return [
    `pod ${metadata.name} ${status.phase ?? 'without a phase'} ${JSON.stringify(state)}`,
    ...(rejection === undefined ? [] : [`  rejected: ${rejection.message}`]),
    ...(lastSyncError === undefined ? [] : [`  last sync: ${lastSyncError}`]),
    ...[...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
      (container) => `  ${container.name} #${container.restartCount} ${JSON.stringify(container.state)}`,
    ),
  ];
}

/** Returns the first and the last lines, each shortened. */
function bounded(lines: readonly string[]): string[] {
  const left = lines.length - 2 * maxLines;
  const shown = left <= 0 ? lines : [...lines.slice(0, maxLines), `… ${left} more …`, ...lines.slice(-maxLines)];
  return shown.map((line) => (line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength)}…`));
}
