import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import type { EngineSnapshot, ReportedEngine } from '../../../src/engine/view/snapshot.ts';

const snapshot: EngineSnapshot = {
  version: '0.1.0',
  nodeName: 'edge1',
  startedAt: 0,
  runtime: { endpoint: 'unix:///run/c.sock', chosenBecause: 'it is there', name: 'containerd', version: '2.1.9' },
  pressures: [],
  pleg: { mode: 'evented' },
  sources: [],
  faults: [],
  pods: [],
};

/** An engine without pods, whose events the test makes. */
export class EventfulEngine implements ReportedEngine {
  private readonly listeners = new Set<(event: KubeletEvent) => void>();

  snapshot(): EngineSnapshot {
    return snapshot;
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  withoutVariables(_podUID: string, text: string): string {
    return text;
  }

  emit(event: KubeletEvent): void {
    for (const listener of this.listeners) listener(event);
  }
}
