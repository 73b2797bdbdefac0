import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import type { NodePressure, NodePressureSnapshot } from '../view/snapshot.ts';

interface Deps {
  nodeName: string;
  clock: Pick<Clock, 'now'>;
  emit: Emit;
  /** Called when the node accepts pods again that it refused before. */
  onRelieved: () => void;
}

/** The events of each condition, for when it begins and when it is over. kubelet: nodestatus/setters.go */
const eventsOf = {
  MemoryPressure: { begins: reasons.nodeHasInsufficientMemory, ends: reasons.nodeHasSufficientMemory },
  DiskPressure: { begins: reasons.nodeHasDiskPressure, ends: reasons.nodeHasNoDiskPressure },
  PIDPressure: { begins: reasons.nodeHasInsufficientPID, ends: reasons.nodeHasSufficientPID },
} as const;

/** The pressure conditions of the node. */
export class NodeConditions {
  private readonly conditions = new Map<NodePressure, NodePressureSnapshot>();
  /** True once the node was checked. */
  areKnown = false;

  constructor(private readonly deps: Deps) {}

  get pressures(): NodePressure[] {
    return [...this.conditions.keys()];
  }

  snapshot(): NodePressureSnapshot[] {
    return [...this.conditions.values()];
  }

  /**
   * Sets the conditions, sorted. `causes` has a text for each condition with a current cause. The others keep their
   * last text.
   */
  set(pressures: readonly NodePressure[], causes: ReadonlyMap<NodePressure, string>): void {
    this.areKnown = true;
    const before = new Map(this.conditions);
    this.conditions.clear();
    for (const type of pressures) {
      const known = before.get(type);
      const message = causes.get(type) ?? known?.message ?? '';
      this.conditions.set(type, { type, since: known?.since ?? this.deps.clock.now(), message });
      if (known === undefined) this.record(eventsOf[type].begins);
    }
    const ended = [...before.keys()].filter((type) => !this.conditions.has(type));
    for (const type of ended) this.record(eventsOf[type].ends);
    if (ended.length > 0) this.deps.onRelieved();
  }

  /** kubelet: kubelet_node_status.go recordNodeStatusEvent */
  private record(reason: string): void {
    const message = `Node ${this.deps.nodeName} status is now: ${reason}`;
    this.deps.emit({ type: 'Recorded', eventType: 'Normal', reason, message });
  }
}
