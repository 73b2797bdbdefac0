import { EventEmitter, once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { controlSocketPath, fetchSnapshot } from '../../src/server/control-client.ts';

/** Longer than anything an engine needs: a test that waits for this long waits in vain. */
const deadlineMs = 60_000;

/** Follows a running agent over its control socket, as any other client could. */
export class EngineWatch {
  readonly #rootDir: string;
  readonly #response: IncomingMessage;
  readonly #changes = new EventEmitter();
  #isOpen = true;

  private constructor(rootDir: string, response: IncomingMessage) {
    this.#rootDir = rootDir;
    this.#response = response;
    // One listener for each wait.
    this.#changes.setMaxListeners(0);
    const lines = createInterface({ input: response });
    lines.on('line', () => this.#changes.emit('change'));
    // An agent that is killed ends its stream without a last chunk.
    for (const stream of [response, lines]) stream.on('error', () => undefined);
    response.on('close', () => {
      this.#isOpen = false;
      this.#changes.emit('change');
    });
  }

  static async open(rootDir: string): Promise<EngineWatch> {
    const sent = request({ socketPath: controlSocketPath(rootDir), path: '/v1/events', agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new EngineWatch(rootDir, response);
  }

  close(): void {
    this.#response.destroy();
  }

  /**
   * The first snapshot of which `isSo` is true, looked at now and after every event. `waitedFor` is what to say in
   * vain.
   */
  async until(isSo: (snapshot: EngineSnapshot) => boolean, waitedFor = isSo.toString()): Promise<EngineSnapshot> {
    const deadline = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const changed = once(this.#changes, 'change', { signal: deadline }).catch(() => undefined);
      const snapshot = await fetchSnapshot(controlSocketPath(this.#rootDir));
      if (snapshot !== undefined && isSo(snapshot)) return snapshot;
      if (!this.#isOpen) throw new Error(`the agent ended before ${waitedFor}`);
      await changed;
      if (deadline.aborted) throw new Error(`waited in vain for ${waitedFor}\n${describe(snapshot)}`);
    }
  }
}

function describe(snapshot: EngineSnapshot | undefined): string {
  const pods = snapshot?.pods.map(({ pod, worker, events }) => ({
    name: pod.metadata.name,
    worker,
    status: pod.status,
    events: events.slice(-10),
  }));
  return JSON.stringify({ sources: snapshot?.sources, pods }, undefined, 1);
}
