import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot, PodUsage, RemoteEngineView, Silence } from '../../engine/view/snapshot.ts';
import type { RemoteView } from '../../server/control/remote-view.ts';

/** The view of an agent that is about to start: a node without pods, then what the agent reports. */
export class StartingView implements RemoteEngineView {
  private readonly empty: EngineSnapshot;
  private readonly listeners = new Map<(event: KubeletEvent) => void, () => void>();
  private message = 'the agent has not answered yet';
  private view: RemoteView | undefined;

  constructor({ nodeName, startedAt }: Pick<EngineSnapshot, 'nodeName' | 'startedAt'>) {
    const runtime = { endpoint: '', chosenBecause: '', name: '', version: '' };
    const nothing = { pressures: [], sources: [], faults: [], pods: [] };
    this.empty = { nodeName, startedAt, runtime, pleg: { mode: 'generic' }, ...nothing };
  }

  /** True once the agent has answered. */
  get isThere(): boolean {
    return this.view !== undefined;
  }

  /** Shows why the agent does not answer yet. */
  waitsFor(message: string): void {
    this.message = message;
  }

  connect(view: RemoteView): void {
    this.view = view;
    for (const listener of this.listeners.keys()) this.listeners.set(listener, view.subscribe(listener));
  }

  snapshot(): EngineSnapshot {
    return this.view?.snapshot() ?? this.empty;
  }

  silence(): Silence | undefined {
    if (this.view !== undefined) return this.view.silence();
    return { since: this.empty.startedAt, message: this.message, isStarting: true };
  }

  async usage(): Promise<PodUsage[]> {
    return (await this.view?.usage()) ?? [];
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.listeners.set(listener, this.view?.subscribe(listener) ?? (() => undefined));
    return () => {
      this.listeners.get(listener)?.();
      this.listeners.delete(listener);
    };
  }

  close(): void {
    this.view?.close();
  }
}
