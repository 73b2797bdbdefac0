import { isDeepStrictEqual } from 'node:util';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import { withoutDisabledFields } from '../../api/values/pod-level-resources.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { ManifestProblem } from '../view/events.ts';
import type { Faults } from '../../flow/faults.ts';
import { publicNames, secretsOf } from '../outgoing/declared-secrets.ts';
import type { SecretValues } from '../outgoing/secret-values.ts';
import { reasons } from '../view/reasons.ts';
import type { SourceSnapshot } from '../view/snapshot.ts';
import type { ConfigObjects } from './config-objects.ts';
import { type Granted, PodClaims, type RefusedPod } from './pod-claims.ts';
import { isMirrorPod } from '../../api/values/config-annotations.ts';
import { PodConfig, type PodUpdate, type SourceId } from './pod-config.ts';
import type { PodSource } from './pod-source.ts';

interface Deps {
  sources: readonly PodSource[];
  /** Told what the sources declare besides pods. */
  configObjects: ConfigObjects;
  /** Takes the values of the Secrets that sources declare. */
  secrets: SecretValues;
  featureGates: FeatureGates;
  faults: Pick<Faults, 'keepRunning'>;
  clock: Clock;
  emit: Emit;
  /** Takes what changed, in the order in which it has to be handled. */
  onUpdate: (update: PodUpdate) => void;
  /** Keys of ConfigMaps and Secrets that changed, came or went; told before the pods of the same list. */
  onConfigObjectsChanged: (keys: readonly string[]) => void;
}

/** What is wrong with a source, by who says so. */
interface Report {
  /** The source itself. */
  problems: ManifestProblem[];
  /** Objects that stay as they were. */
  refused: ManifestProblem[];
  /** Pods that another source has. */
  pods: ManifestProblem[];
}

/** Runs the sources, merges what they declare, and remembers what is wrong with it. kubelet: config/config.go */
export class ConfigReader {
  /** In the order of the sources. */
  readonly sourceIds: readonly SourceId[];
  private readonly deps: Deps;
  private readonly podConfig = new PodConfig();
  private readonly claims = new PodClaims();
  private readonly snapshots: SourceSnapshot[];
  /** By id of the source. */
  private readonly reports = new Map<string, Report>();

  constructor(deps: Deps) {
    this.deps = deps;
    this.sourceIds = deps.sources.map(({ source }, index) => ({ id: `${source}#${index}`, source }));
    this.snapshots = deps.sources.map(({ source, where }) => ({ source, where, ready: false, pods: 0, problems: [] }));
  }

  /** Reads every source until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { faults } = this.deps;
    const read = (sourceId: SourceId, index: number): Promise<void> =>
      faults.keepRunning(`source ${sourceId.id}`, () => this.read(sourceId, index, signal), signal);
    await Promise.all(this.sourceIds.map(read));
  }

  /** Resolves once what the sources declared at the time of the call was handed to `onUpdate`, as far as they can tell. */
  async settled(): Promise<void> {
    await Promise.all(this.deps.sources.map(async (source) => source.settle?.()));
  }

  /** The updates of a configuration without any pod. They are not handed to `onUpdate`. */
  declareNothing(): PodUpdate[] {
    const now = this.deps.clock.now();
    return this.sourceIds.flatMap((source) => this.podConfig.merge(source, [], now).updates);
  }

  /** True: some source has a pod of this full name, as it was read last. */
  declares(fullName: string): boolean {
    return this.podConfig.declares(fullName);
  }

  snapshot(): SourceSnapshot[] {
    return this.snapshots.map((snapshot) => ({ ...snapshot }));
  }

  private async read({ id }: SourceId, index: number, signal: AbortSignal): Promise<void> {
    const { configObjects, featureGates, onConfigObjectsChanged, secrets, sources } = this.deps;
    const source = sources[index];
    await source?.run(
      {
        onUpdate: ({ pods: declared, problems, configObjects: objects = [] }) => {
          const pods = declared
            .filter((pod) => !isMirrorPod(pod))
            .map((pod) => withoutDisabledFields(pod, featureGates));
          // Before anything is told of them.
          secrets.set(id, secretsOf(objects));
          secrets.setPublicNames(id, publicNames(pods));
          const { changed, refused } = configObjects.replace(id, objects);
          if (changed.length > 0) onConfigObjectsChanged(changed);
          this.reports.set(id, { problems, refused: refused.map((key) => immutable(key, source.where)), pods: [] });
          for (const [concerned, granted] of this.claims.replace(id, pods)) this.merge(concerned, granted);
        },
        onProblems: (problems) => {
          this.reports.set(id, { refused: [], pods: [], ...this.reports.get(id), problems });
          this.remember(id);
        },
      },
      signal,
    );
  }

  /** Hands on what changed in what a source has. */
  private merge(id: string, { pods, refused }: Granted): void {
    const { clock, emit, onUpdate } = this.deps;
    const source = this.sourceIds.find((known) => known.id === id);
    const report = this.reports.get(id);
    if (source === undefined || report === undefined) return;
    const { updates, duplicates } = this.podConfig.merge(source, pods, clock.now());
    for (const pod of duplicates) {
      const message = `pod ${pod.metadata.namespace}/${pod.metadata.name} is declared twice`;
      podEventRecorder(emit, pod).warning(reasons.failedValidation, message);
    }
    report.pods = refused.map((pod) => this.taken(pod, id));
    this.remember(id, pods.length);
    for (const update of updates) onUpdate(update);
  }

  /** `pods` undefined: there is no new list, the pods stay. */
  private remember(id: string, pods?: number): void {
    const snapshot = this.snapshotOf(id);
    const report = this.reports.get(id);
    if (snapshot === undefined || report === undefined) return;
    const problems = [...report.problems, ...report.refused, ...report.pods];
    this.tellOfLastGood(snapshot.problems, problems);
    const isNewList = pods !== undefined && (pods !== snapshot.pods || !snapshot.ready);
    const changed = isNewList || !isSameList(snapshot.problems, problems);
    snapshot.problems = problems;
    snapshot.lastReadAt = this.deps.clock.now();
    if (pods !== undefined) {
      snapshot.pods = pods;
      snapshot.ready = true;
    }
    const { source, where } = snapshot;
    if (changed) this.deps.emit({ type: 'SourceRead', source, where, pods: snapshot.pods, problems });
  }

  /** An event when the last good manifest of a pod begins to stand for a broken one, and when the manifest is good again. */
  private tellOfLastGood(before: readonly ManifestProblem[], now: readonly ManifestProblem[]): void {
    const { emit } = this.deps;
    const [stoodBefore, standsNow] = [lastGoodPods(before), lastGoodPods(now)];
    for (const [uid, { pod, origin }] of standsNow) {
      if (stoodBefore.has(uid)) continue;
      const cause = now.find((problem) => problem.origin === origin && problem.lastGoodPods === undefined);
      const where = [origin, cause?.line].filter((part) => part !== undefined).join(':');
      const message = `Its manifest is broken, its last good revision stands: ${where}: ${cause?.message ?? ''}`;
      emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.manifestBroken, message, pod });
    }
    for (const [uid, { pod, origin }] of stoodBefore) {
      if (standsNow.has(uid) || !this.podConfig.declares(`${pod.name}_${pod.namespace}`)) continue;
      const message = `Its manifest is good again: ${origin}`;
      emit({ type: 'Recorded', eventType: 'Normal', reason: reasons.manifestGood, message, pod });
    }
  }

  private taken({ pod, field, owner }: RefusedPod, id: string): ManifestProblem {
    const { namespace, name, uid } = pod.metadata;
    const what = field === 'metadata.name' ? `pod ${namespace}/${name}` : `UID ${uid}`;
    return {
      origin: this.snapshotOf(id)?.where ?? '',
      field,
      message: `${what} is declared by ${this.snapshotOf(owner)?.where ?? ''} already`,
      hint: 'It is taken from here when it is declared there no more.',
      severity: 'error',
    };
  }

  private snapshotOf(id: string): SourceSnapshot | undefined {
    return this.snapshots[this.sourceIds.findIndex((source) => source.id === id)];
  }
}

/** The pods of last good manifests by UID, with where they stand. */
function lastGoodPods(problems: readonly ManifestProblem[]): Map<string, { pod: PodRef; origin: string }> {
  return new Map(
    problems.flatMap(({ origin, lastGoodPods: pods = [] }) => pods.map((pod) => [pod.uid, { pod, origin }] as const)),
  );
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
