import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../event-bus.ts';
import { podEventRecorder } from '../event-recorder.ts';
import type { ManifestProblem } from '../events.ts';
import { reasons } from '../reasons.ts';
import type { SourceSnapshot } from '../snapshot.ts';
import type { ConfigObjects } from './config-objects.ts';
import { PodConfig, type PodUpdate, type SourceId } from './pod-config.ts';
import type { PodSource } from './pod-source.ts';

interface Deps {
  sources: readonly PodSource[];
  /** Told what the sources declare besides pods. */
  configObjects: ConfigObjects;
  clock: Clock;
  emit: Emit;
  /** Takes what changed, in the order in which it has to be handled. */
  onUpdate: (update: PodUpdate) => void;
  /** Keys of ConfigMaps and Secrets that changed, came or went; told before the pods of the same list. */
  onConfigObjectsChanged: (keys: readonly string[]) => void;
}

/** Runs the sources, merges what they declare, and remembers what is wrong with it. kubelet: config/config.go */
export class ConfigReader {
  /** In the order of the sources. */
  readonly sourceIds: readonly SourceId[];
  private readonly deps: Deps;
  private readonly podConfig = new PodConfig();
  private readonly snapshots: SourceSnapshot[];

  constructor(deps: Deps) {
    this.deps = deps;
    this.sourceIds = deps.sources.map(({ source }, index) => ({ id: `${source}#${index}`, source }));
    this.snapshots = deps.sources.map(({ source, where }) => ({ source, where, ready: false, pods: 0, problems: [] }));
  }

  /** Reads every source until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.sourceIds.map((sourceId, index) => this.read(sourceId, index, signal)));
  }

  /** The updates of a configuration without any pod. They are not handed to `onUpdate`. */
  declareNothing(): PodUpdate[] {
    const now = this.deps.clock.now();
    return this.sourceIds.flatMap((source) => this.podConfig.merge(source, [], now).updates);
  }

  snapshot(): SourceSnapshot[] {
    return this.snapshots.map((snapshot) => ({ ...snapshot }));
  }

  private async read(sourceId: SourceId, index: number, signal: AbortSignal): Promise<void> {
    const { clock, configObjects, emit, onConfigObjectsChanged, onUpdate, sources } = this.deps;
    await sources[index]?.run(
      {
        onUpdate: ({ pods, problems, configObjects: objects = [] }) => {
          const { changed, refused } = configObjects.replace(sourceId.id, objects);
          if (changed.length > 0) onConfigObjectsChanged(changed);
          const { updates, duplicates } = this.podConfig.merge(sourceId, pods, clock.now());
          for (const pod of duplicates) {
            const message = `pod ${pod.metadata.namespace}/${pod.metadata.name} is declared twice`;
            podEventRecorder(emit, pod).warning(reasons.failedValidation, message);
          }
          const { where } = sources[index] ?? { where: '' };
          this.remember(index, pods.length, [...problems, ...refused.map((key) => immutable(key, where))]);
          for (const update of updates) onUpdate(update);
        },
        onProblems: (problems) => {
          this.remember(index, undefined, problems);
        },
      },
      signal,
    );
  }

  /** `pods` undefined: there is no new list, the pods stay. */
  private remember(index: number, pods: number | undefined, problems: ManifestProblem[]): void {
    const snapshot = this.snapshots[index];
    if (snapshot === undefined) return;
    const changed =
      !isSameList(snapshot.problems, problems) || (pods !== undefined && pods !== snapshot.pods) || !snapshot.ready;
    snapshot.problems = problems;
    snapshot.lastReadAt = this.deps.clock.now();
    if (pods !== undefined) {
      snapshot.pods = pods;
      snapshot.ready = true;
    }
    const { source, where } = snapshot;
    if (changed) this.deps.emit({ type: 'SourceRead', source, where, pods: snapshot.pods, problems });
  }
}

function immutable(key: string, origin: string): ManifestProblem {
  return {
    origin,
    message: `${key} is immutable: it stays as it was`,
    hint: 'Declare the new content under another name and let the pods use that, or remove the object first.',
    severity: 'error',
  };
}

/** Cheap when the items are the very same objects, as those of manifests that did not change are. */
function isSameList(a: readonly ManifestProblem[], b: readonly ManifestProblem[]): boolean {
  return a.length === b.length && a.every((problem, index) => isDeepStrictEqual(problem, b[index]));
}
