import { criLabels } from '../../engine/container/labels.ts';
import { openPort } from '../../cri/streaming/open-port.ts';
import type { StreamConnection } from '../../cri/streaming/stream-connection.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { UserError } from '../../errors.ts';

interface Deps {
  runtime: Pick<RuntimeService, 'listPodSandbox' | 'portForward'>;
  /** Prints a line about a change of the pod. */
  print: (text: string) => void;
}

/** Opens ports of a pod by its name, even after the pod was replaced. */
export class PodPorts {
  constructor(
    private readonly deps: Deps,
    private readonly pod: { namespace: string; name: string },
    private sandboxID: string,
  ) {}

  /** Opens a port in the known sandbox or, if that fails, in a newer one. */
  async open(port: number, signal: AbortSignal): Promise<StreamConnection> {
    const { runtime } = this.deps;
    const sandboxID = this.sandboxID;
    try {
      return await openPort(runtime, { sandboxID, port }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const newest = await this.newestSandbox(signal);
      if (newest === sandboxID) throw error;
      // If several connections find the change, one reports it.
      if (this.sandboxID !== newest) this.deps.print(`Pod ${this.title} restarted, forwarding to its new sandbox`);
      this.sandboxID = newest;
      return openPort(runtime, { sandboxID: newest, port }, signal);
    }
  }

  private async newestSandbox(signal: AbortSignal): Promise<string> {
    const { namespace, name } = this.pod;
    const labelSelector = { [criLabels.podName]: name, [criLabels.podNamespace]: namespace };
    const { items } = await this.deps.runtime.listPodSandbox(
      { filter: { labelSelector, state: { state: 'SANDBOX_READY' } } },
      { signal },
    );
    const [newest] = items.toSorted((a, b) => Number(b.createdAt - a.createdAt));
    if (newest === undefined) throw new UserError(`pod ${this.title} is not running`);
    return newest.id;
  }

  private get title(): string {
    return `${this.pod.namespace}/${this.pod.name}`;
  }
}
