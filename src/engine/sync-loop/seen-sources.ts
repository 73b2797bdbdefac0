import type { SourceId } from '../config/pod-config.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';

interface Deps {
  /** Ids of all sources. */
  sourceIds: readonly SourceId[];
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
}

/** The sources whose first list was handled. kubelet: config/sources.go SourcesReady */
export class SeenSources {
  private readonly seen = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** Returns true for the first list of a source. */
  add(sourceId: string): boolean {
    const isFirst = !this.seen.has(sourceId);
    this.seen.add(sourceId);
    return isFirst;
  }

  /** True once the first list of every source is handled. kubelet: config/config.go SeenAllSources */
  get areAllSeen(): boolean {
    return this.unread().length === 0;
  }

  /**
   * True if an unread source may declare this pod of an earlier agent: a source of the same kind as the pod's. The
   * kubelet waits for every source. Here a URL that does not answer does not delay pods from files.
   */
  mayDeclare(uid: string): boolean {
    const unread = this.unread();
    if (unread.length === 0) return false;
    const kind = this.deps.runtimePod(uid)?.source;
    return kind === undefined || unread.some(({ source }) => source === kind);
  }

  private unread(): SourceId[] {
    return this.deps.sourceIds.filter(({ id }) => !this.seen.has(id));
  }
}
