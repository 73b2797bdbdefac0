import { isDeepStrictEqual } from 'node:util';
import { withoutNotes } from '../../api/text/manifest-problem.ts';
import type { Pod } from '../../api/types.ts';
import type { ClassPosition, ClassProblem } from '../../api/values/resolve-classes.ts';
import { claimedKeys, NameOwners, podKeys } from '../../api/values/name-owners.ts';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import { withoutDisabledFields } from '../../api/values/disabled-fields.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { podFullName, type PodName, type PodRef } from '../../api/values/pod-names.ts';
import type { ManifestProblem } from '../view/events.ts';
import type { Faults } from '../../flow/faults.ts';
import { publicNames, secretsOf } from '../redaction/declared-secrets.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import { reasons } from '../view/reasons.ts';
import type { Declarer, SourceSnapshot } from '../view/snapshot.ts';
import type { ConfigObjects } from '../config-objects/config-objects.ts';
import { isMirrorPod } from '../../api/values/config-annotations.ts';
import { declaredAlready } from './load-manifest.ts';
import { type Identify, PodConfig, type PodUpdate, type SourceId } from './pod-config.ts';
import { PodClasses } from '../config-objects/pod-classes.ts';
import type { PodSource, SourceUpdate } from './pod-source.ts';

interface Deps {
  sources: readonly PodSource[];
  /** Receives the ConfigMaps, Secrets and classes that the sources declare. */
  configObjects: ConfigObjects;
  /** Receives the values of the Secrets that sources declare. */
  secrets: SecretValues;
  featureGates: FeatureGates;
  faults: Pick<Faults, 'keepRunning'>;
  clock: Clock;
  emit: Emit;
  /** Returns the revision of a declared pod to run. `from` is where the pod is declared. */
  revisionToRun?: (declared: { pod: Pod; isDerivedUID: boolean }, from: string) => { pod: Pod; isDerivedUID: boolean };
  /** Chooses the UID of a pod if its manifest sets none. */
  identify: Identify;
  /** Receives the changes of pods, in the order in which they must be handled. */
  onUpdate: (update: PodUpdate) => void;
  /**
   * Receives the keys of added, changed and removed ConfigMaps, Secrets and classes, before the pods of the same list.
   */
  onConfigObjectsChanged: (keys: readonly string[]) => void;
}

/** A source and the state of its last read. */
interface Read {
  readonly id: SourceId;
  readonly source: PodSource;
  readonly snapshot: SourceSnapshot;
  /** The pods of its last list; undefined before the first list. */
  declared: readonly Pod[] | undefined;
  /** Keys of its objects, by `claimedKeys`. */
  keys: ReadonlySet<string>;
  /** True if its last list is empty on purpose. */
  declaresNothing: boolean;
  /** UIDs of these pods that are derived from their manifests. */
  derivedUIDs: ReadonlySet<string>;
  /** Problems that the source reports. */
  problems: ManifestProblem[];
  /** Refused changes of immutable objects. */
  immutable: ManifestProblem[];
  /** The positions where its pods name their classes. */
  classPositions: readonly ClassPosition[];
  /** The revisions to run of the pods that it owns. */
  run: Pod[];
  /** Pods that must not start, because of their class. */
  unclassed: ManifestProblem[];
  /** Pods that it declares too, but another source declared first. */
  taken: ManifestProblem[];
}

/**
 * Runs the sources, merges their lists and keeps their problems. If two sources declare one pod, the first one owns it
 * until it no longer declares it. This way no source takes a pod from another. In the kubelet both own the pod, and it
 * stops when either source drops it. kubelet: config/config.go
 */
export class ConfigReader {
  /** In the order of the sources. */
  readonly sourceIds: readonly SourceId[];
  private readonly podConfig = new PodConfig();
  private readonly claims = new NameOwners<Read>();
  private readonly reads: readonly Read[];
  private readonly podClasses: PodClasses;

  constructor(private readonly deps: Deps) {
    this.podClasses = new PodClasses(deps.configObjects);
    this.reads = deps.sources.map((source, index) => ({
      id: { id: `${source.source}#${index}`, source: source.source },
      source,
      snapshot: { source: source.source, where: source.where, ready: false, pods: 0, problems: [] },
      declared: undefined,
      keys: new Set(),
      declaresNothing: false,
      derivedUIDs: new Set(),
      problems: [],
      immutable: [],
      classPositions: [],
      run: [],
      unclassed: [],
      taken: [],
    }));
    this.sourceIds = this.reads.map(({ id }) => id);
  }

  /** Reads every source until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const runs = this.reads.map((read) => {
      const onUpdate = (update: SourceUpdate): void => {
        this.take(read, update);
      };
      const onProblems = (problems: ManifestProblem[]): void => {
        read.problems = problems;
        this.remember(read);
      };
      const run = (): Promise<void> => read.source.run({ onUpdate, onProblems }, signal);
      return this.deps.faults.keepRunning(`source ${read.id.id}`, run, signal);
    });
    await Promise.all(runs);
  }

  /**
   * Resolves once `onUpdate` received everything that the sources declared when this was called. Does not wait for
   * sources without `settle`.
   */
  async settled(): Promise<void> {
    await Promise.all(this.deps.sources.map(async (source) => source.settle?.()));
  }

  /** Returns the updates that an empty configuration would cause. `onUpdate` does not receive them. */
  declareNothing(): PodUpdate[] {
    const now = this.deps.clock.now();
    return this.sourceIds.flatMap((source) => this.podConfig.merge(source, [], now).updates);
  }

  /** Chooses the revision of every pod again. */
  redeclare(): void {
    for (const read of this.reads) if (read.declared !== undefined) this.merge(read);
  }

  /** Returns the sources whose last list has a pod of this name. */
  declarers(pod: PodName): string[] {
    return this.reads.filter(({ declared }) => hasPod(declared, pod)).map(({ source }) => source.where);
  }

  /**
   * Returns the file or URL that declares the pod of this name, with its version if it has one. Undefined if none does.
   */
  declarer({ namespace, name }: PodName): Declarer | undefined {
    const key = `Pod/${namespace}/${name}`;
    const read = this.claims.owner(key);
    if (read === undefined) return undefined;
    const { where, version } = read.snapshot;
    return { where: read.source.fileOf?.(key) ?? where, ...(version !== undefined && { version }) };
  }

  /** Returns the file or URL that declares an object, found by its `claimedKeys`. Undefined if none does. */
  declarerOf(key: string): string | undefined {
    const read = this.reads.find(({ keys }) => keys.has(key));
    return read?.source.fileOf?.(key) ?? read?.source.where;
  }

  /** True if the last list of any source has a pod with this full name. */
  declares(fullName: string): boolean {
    return this.podConfig.declares(fullName);
  }

  /** True if the last list of any source is empty on purpose. */
  declaresNothing(): boolean {
    return this.reads.some((read) => read.declaresNothing);
  }

  /**
   * Returns why a pod must not start with its class. Returns undefined if it may start. `revision` is the UID of its
   * manifest.
   */
  classProblemOf(revision: string): ClassProblem | undefined {
    return this.podClasses.problemOf(revision);
  }

  snapshot(): SourceSnapshot[] {
    return this.reads.map(({ snapshot }) => ({ ...snapshot }));
  }

  private take(read: Read, update: SourceUpdate): void {
    const { pods, problems, version, configObjects: objects = [], classPositions = [], derivedUIDs = [] } = update;
    const { configObjects, featureGates, onConfigObjectsChanged, secrets } = this.deps;
    const { id } = read.id;
    read.declared = pods.filter((pod) => !isMirrorPod(pod)).map((pod) => withoutDisabledFields(pod, featureGates));
    read.keys = new Set(claimedKeys({ pods: read.declared, configObjects: objects }));
    read.declaresNothing = update.declaresNothing === true;
    read.derivedUIDs = new Set(derivedUIDs);
    read.problems = problems;
    if (version !== undefined) read.snapshot.version = version;
    read.classPositions = classPositions;
    // First, because the next lines already log and emit events about these pods.
    secrets.set(id, secretsOf(objects));
    secrets.setPublicNames(id, publicNames(read.declared));
    const { changed, refused } = configObjects.replace(id, objects);
    if (changed.length > 0) onConfigObjectsChanged(changed);
    read.immutable = refused.map((key) => immutable(key, read.source.where));
    this.claims.set(read, read.declared.flatMap(podKeys));
    this.podClasses.retain(
      new Set(
        this.reads.flatMap(({ declared = [], run }) => [...declared, ...run].map(({ metadata }) => metadata.uid)),
      ),
    );
    const isClassChanged = changed.some((key) => key.startsWith('RuntimeClass/') || key.startsWith('PriorityClass/'));
    // A pod that this source dropped may now belong to another source. Pods of other sources may use a class of this
    // one.
    const lacking = this.reads.filter(
      (other) => other !== read && other.declared !== undefined && (isClassChanged || other.taken.length > 0),
    );
    for (const concerned of [read, ...lacking]) this.merge(concerned);
  }

  /** Sends the changes of the pods that a source owns. */
  private merge(read: Read): void {
    const { clock, emit, onUpdate } = this.deps;
    const pods: Pod[] = [];
    const derivedUIDs = new Set<string>();
    read.taken = [];
    read.unclassed = [];
    read.run = [];
    for (const pod of read.declared ?? []) {
      const key = this.claims.claimedByAnother(read, podKeys(pod));
      if (key === undefined) {
        const declared = { pod, isDerivedUID: read.derivedUIDs.has(pod.metadata.uid) };
        const run = this.deps.revisionToRun?.(declared, read.source.where) ?? declared;
        if (run.isDerivedUID) derivedUIDs.add(run.pod.metadata.uid);
        read.run.push(run.pod);
        pods.push(this.podClasses.resolve(run.pod));
        read.unclassed.push(...this.podClasses.placedProblem(run.pod, read.classPositions, read.source.where));
      } else {
        const owner = this.claims.owner(key)?.source.where ?? '';
        const hint = 'This one is used once the other source no longer declares it.';
        read.taken.push(declaredAlready(read.source.where, key, owner, hint));
      }
    }
    const identify: Identify = (pod, previous) =>
      derivedUIDs.has(pod.metadata.uid) ? this.deps.identify(pod, previous) : pod;
    const { updates, duplicates } = this.podConfig.merge(read.id, pods, clock.now(), identify);
    for (const pod of duplicates) {
      const message = `pod ${pod.metadata.namespace}/${pod.metadata.name} is declared twice`;
      podEventRecorder(emit, pod).warning(reasons.failedValidation, message);
    }
    this.remember(read, pods.length);
    for (const update of updates) onUpdate(update);
  }

  /** Updates the snapshot. `pods` is the number of pods in a new list; by default the old list stays. */
  private remember({ snapshot, ...read }: Read, pods = snapshot.pods): void {
    const problems = withoutNotes([...read.problems, ...read.immutable, ...read.unclassed, ...read.taken]);
    this.recordLastGood(snapshot.problems, problems);
    const isReady = read.declared !== undefined;
    const isNewList = pods !== snapshot.pods || isReady !== snapshot.ready;
    // Cheap for unchanged manifests, because their problems are the same objects.
    const isNews = isNewList || !isDeepStrictEqual(snapshot.problems, problems);
    Object.assign(snapshot, { problems, pods, ready: isReady, lastReadAt: this.deps.clock.now() });
    const { source, where } = snapshot;
    if (isNews) this.deps.emit({ type: 'SourceRead', source, where, pods, problems });
  }

  /** Emits an event when a last good manifest replaces a broken one, and when the manifest is good again. */
  private recordLastGood(before: readonly ManifestProblem[], now: readonly ManifestProblem[]): void {
    const [stoodBefore, standsNow] = [lastGoodPods(before), lastGoodPods(now)];
    for (const [uid, { pod, origin }] of standsNow) {
      if (stoodBefore.has(uid)) continue;
      const cause = now.find((problem) => problem.origin === origin && problem.lastGoodPods === undefined);
      const where = [origin, cause?.line].filter((part) => part !== undefined).join(':');
      const message = `Its manifest is broken, its last good revision stays in use: ${where}: ${cause?.message ?? ''}`;
      this.record('Warning', reasons.manifestBroken, message, pod);
    }
    for (const [uid, { pod, origin }] of stoodBefore) {
      if (standsNow.has(uid) || !this.podConfig.declares(podFullName(pod))) continue;
      this.record('Normal', reasons.manifestGood, `Its manifest is good again: ${origin}`, pod);
    }
  }

  /** Emits an event for the declared pod of this name. Its UID may be from an earlier revision. */
  private record(eventType: 'Normal' | 'Warning', reason: string, message: string, pod: PodRef): void {
    const uid = this.podConfig.uidOf(podFullName(pod)) ?? pod.uid;
    this.deps.emit({ type: 'Recorded', eventType, reason, message, pod: { ...pod, uid } });
  }
}

/** Returns by UID the pods that run from a last good manifest, with the origin of that manifest. */
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

function hasPod(pods: readonly Pod[] = [], { namespace, name }: PodName): boolean {
  return pods.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
}
