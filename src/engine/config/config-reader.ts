import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import type { ClassPosition, ClassProblem } from '../../api/values/resolve-classes.ts';
import { withoutWorkloads } from '../../api/values/declared-pods.ts';
import { claimedKeys, NameOwners, podKeys } from '../../api/values/name-owners.ts';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import { withoutDisabledFields } from '../../api/values/disabled-fields.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import type { ManifestProblem } from '../view/events.ts';
import type { Faults } from '../../flow/faults.ts';
import { publicNames, secretsOf } from '../redaction/declared-secrets.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import { reasons } from '../view/reasons.ts';
import type { Declarer, SourceSnapshot } from '../view/snapshot.ts';
import type { ConfigObjects } from '../config-objects/config-objects.ts';
import type { ConfigObject } from '../../api/values/config-object.ts';
import { type DeclaredWorkload, workloadKey } from '../../api/values/workload.ts';
import type { DeclaredPod } from '../operations/pod-revisions.ts';
import { isMirrorPod } from '../../api/values/config-annotations.ts';
import { declaredAlready, podUIDHash } from './load-manifest.ts';
import { type Identify, PodConfig, type PodUpdate, type SourceId } from './pod-config.ts';
import type { DecideWorkloads, WantedPod } from './wanted-pods.ts';
import { PodClasses } from '../config-objects/pod-classes.ts';
import type { PodSource, SourceUpdate } from './pod-source.ts';
import { SourceReport } from './source-report.ts';

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
  revisionToRun?: (declared: DeclaredPod, from: string) => DeclaredPod;
  /** Decides which pods the workloads of a source want now. Defaults to those of its list. */
  decideWorkloads?: DecideWorkloads;
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
  readonly report: SourceReport;
  /** The pods of its last list; undefined before the first list. */
  declared: readonly Pod[] | undefined;
  /** The workloads of its last list. */
  workloads: readonly DeclaredWorkload[];
  configObjects: readonly ConfigObject[];
  /** Claims of the pods that its workloads want, which the list does not have. */
  claims: readonly ConfigObject[];
  /** The objects and claims that are declared: not those of workloads that another source declared first. */
  objects: readonly ConfigObject[];
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
  refused: ManifestProblem[];
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
      report: new SourceReport(source, { ...deps, uidOf: (fullName) => this.podConfig.uidOf(fullName) }),
      declared: undefined,
      workloads: [],
      configObjects: [],
      claims: [],
      objects: [],
      keys: new Set(),
      declaresNothing: false,
      derivedUIDs: new Set(),
      problems: [],
      immutable: [],
      classPositions: [],
      run: [],
      unclassed: [],
      refused: [],
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
        this.report(read);
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

  /**
   * Drops the lists of all sources until each is read again. Returns the updates that this causes. `onUpdate` does not
   * receive them.
   */
  declareNothing(): PodUpdate[] {
    // Workloads would declare their pods again.
    for (const read of this.reads) Object.assign(read, { declared: undefined, workloads: [] });
    const now = this.deps.clock.now();
    return this.sourceIds.flatMap((source) => this.podConfig.merge(source, [], now).updates);
  }

  /** Chooses the revision of every pod again. */
  redeclare(): void {
    for (const read of this.reads) if (read.declared !== undefined) this.merge(read);
  }

  /** Decides about the workloads of every source again. */
  decideWorkloads(): void {
    for (const read of this.reads) if (read.workloads.length > 0) this.merge(read);
  }

  /** Returns the sources whose last list has a pod of this name. */
  declarers(pod: PodName): string[] {
    return this.reads.filter(({ declared }) => hasPod(declared, pod)).map(({ source }) => source.where);
  }

  /**
   * Returns the file or URL that owns the pod or workload with this key, one of `claimedKeys`, with its version if it
   * has one. Undefined if none does.
   */
  declarer(key: string): Declarer | undefined {
    const read = this.claims.owner(key);
    if (read === undefined) return undefined;
    const { version } = read.report.snapshot;
    return { where: whereIn(read, key), ...(version !== undefined && { version }) };
  }

  /** Returns the file or URL that declares an object, found by its `claimedKeys`. Undefined if none does. */
  declarerOf(key: string): string | undefined {
    const read = this.reads.find(({ keys }) => keys.has(key));
    return read && whereIn(read, key);
  }

  /** True if the last list of any source has a pod with this full name. */
  declares(fullName: string): boolean {
    return this.podConfig.declares(fullName);
  }

  /** True if the last list of a source other than this one has this pod, with the same UID. */
  declaresElsewhere({ metadata }: Pod, sourceId: string): boolean {
    return this.podConfig.declaresElsewhere(metadata.uid, sourceId);
  }

  /** True if the last list of any source has a pod or a workload. */
  declaresAny(): boolean {
    return this.reads.some(({ declared = [], workloads }) => declared.length > 0 || workloads.length > 0);
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
    return this.reads.map(({ report }) => ({ ...report.snapshot }));
  }

  private take(read: Read, update: SourceUpdate): void {
    const { pods, problems, version, configObjects: objects = [], classPositions = [], derivedUIDs = [] } = update;
    const { featureGates, secrets } = this.deps;
    const { id } = read.id;
    read.declared = pods.filter((pod) => !isMirrorPod(pod)).map((pod) => withoutDisabledFields(pod, featureGates));
    read.workloads = (update.workloads ?? []).map((workload) => withTemplate(workload, featureGates));
    read.configObjects = objects;
    read.keys = new Set(claimedKeys({ pods: read.declared, workloads: read.workloads, configObjects: objects }));
    read.declaresNothing = update.declaresNothing === true;
    read.derivedUIDs = new Set(derivedUIDs);
    read.problems = problems;
    if (version !== undefined) read.report.snapshot.version = version;
    read.classPositions = classPositions;
    // First, because the next lines already log and emit events about these pods.
    secrets.set(id, secretsOf(objects));
    secrets.setPublicNames(id, publicNames(read.declared));
    const own = this.withoutRefused(read, this.refusedWorkloads(read));
    const { changed, refused } = this.declareObjects(read, [...own.configObjects, ...read.claims]);
    read.immutable = refused.map((key) => immutable(key, read.source.where));
    this.claims.set(read, this.declaredKeys(read));
    this.podClasses.retain(
      new Set(
        this.reads.flatMap(({ declared = [], run }) => [...declared, ...run].map(({ metadata }) => metadata.uid)),
      ),
    );
    const isClassChanged = changed.some((key) => key.startsWith('RuntimeClass/') || key.startsWith('PriorityClass/'));
    // A pod that this source dropped may now belong to another source. Pods of other sources may use a class of this
    // one.
    const lacking = this.reads.filter(
      (other) => other !== read && other.declared !== undefined && (isClassChanged || other.refused.length > 0),
    );
    for (const concerned of [read, ...lacking]) this.merge(concerned);
  }

  /** Sends the changes of the pods that a source owns. */
  private merge(read: Read): void {
    const { clock, emit, onUpdate } = this.deps;
    const pods: Pod[] = [];
    const derivedUIDs = new Set<string>();
    read.refused = [];
    read.unclassed = [];
    read.run = [];
    for (const { pod, isOwned, keepsRevision } of this.wantedPods(read)) {
      const key = this.claims.claimedByAnother(read, podKeys(pod));
      if (key === undefined) {
        const isDerivedUID = isOwned === true || read.derivedUIDs.has(pod.metadata.uid);
        const declared = { pod, isDerivedUID, ...(keepsRevision !== undefined && { keepsRevision }) };
        const run = this.deps.revisionToRun?.(declared, read.source.where) ?? declared;
        if (run.isDerivedUID) derivedUIDs.add(run.pod.metadata.uid);
        read.run.push(run.pod);
        pods.push(this.podClasses.resolve(run.pod));
        read.unclassed.push(...this.podClasses.placedProblem(run.pod, read.classPositions, read.source.where));
      } else {
        read.refused.push(this.refusedProblem(read, key));
      }
    }
    const identify: Identify = (pod, previous) =>
      derivedUIDs.has(pod.metadata.uid) ? this.deps.identify(pod, previous) : pod;
    const { updates, duplicates } = this.podConfig.merge(read.id, pods, clock.now(), identify);
    for (const pod of duplicates) {
      const message = `pod ${pod.metadata.namespace}/${pod.metadata.name} is declared twice`;
      podEventRecorder(emit, pod).warning(reasons.failedValidation, message);
    }
    this.report(read, pods.length);
    for (const update of updates) onUpdate(update);
  }

  private refusedProblem(read: Read, key: string): ManifestProblem {
    const owner = this.declarer(key)?.where ?? '';
    const hint = 'This one is used once the other source no longer declares it.';
    return declaredAlready(whereIn(read, key), key, owner, hint);
  }

  /** Returns the pods of its list, with those that its workloads want now instead of theirs. Declares their claims. */
  private wantedPods(read: Read): readonly WantedPod[] {
    const { decideWorkloads } = this.deps;
    const refused = this.refusedWorkloads(read);
    read.refused.push(...refused.map((workload) => this.refusedProblem(read, workloadKey(workload))));
    const own = this.withoutRefused(read, refused);
    const { pods, claims } = decideWorkloads?.(read.id.id, own.pods, own.workloads, (pod) =>
      this.otherSourceOf(read, pod),
    ) ?? { pods: own.pods.map((pod) => ({ pod })), claims: [] };
    if (read.workloads.length > 0)
      this.claims.set(read, [...this.declaredKeys(read), ...pods.flatMap(({ pod }) => podKeys(pod))]);
    read.claims = claims;
    const objects = [...own.configObjects, ...claims];
    if (!isDeepStrictEqual(objects, read.objects)) this.declareObjects(read, objects);
    return pods;
  }

  private declareObjects(read: Read, objects: readonly ConfigObject[]): ReturnType<ConfigObjects['replace']> {
    const { configObjects, onConfigObjectsChanged } = this.deps;
    read.objects = objects;
    const replacement = configObjects.replace(read.id.id, objects);
    if (replacement.changed.length > 0) onConfigObjectsChanged(replacement.changed);
    return replacement;
  }

  /** Returns the file or URL of another source that declares a pod of this name. Returns undefined if none does. */
  private otherSourceOf(read: Read, { metadata }: Pod): string | undefined {
    const key = `Pod/${podKey(metadata)}`;
    const owner = this.claims.owner(key);
    return owner === undefined || owner === read ? undefined : whereIn(owner, key);
  }

  /** Returns the keys that a source claims: not those of pods of workloads that another source declared first. */
  private declaredKeys(read: Read): string[] {
    const refused = this.refusedWorkloads(read);
    return [...claimedKeys({ ...this.withoutRefused(read, refused), configObjects: [] }), ...refused.map(workloadKey)];
  }

  /** Returns the workloads of its list that another source declared first. */
  private refusedWorkloads(read: Read): DeclaredWorkload[] {
    return read.workloads.filter((workload) => ![read, undefined].includes(this.claims.owner(workloadKey(workload))));
  }

  private withoutRefused({ declared = [], workloads, configObjects }: Read, refused: readonly DeclaredWorkload[]) {
    return withoutWorkloads({ pods: declared, workloads, configObjects }, refused, podUIDHash);
  }

  /** `pods` is the number of pods in a new list; by default the old list stays. */
  private report(read: Read, pods?: number): void {
    const problems = [...read.problems, ...read.immutable, ...read.unclassed, ...read.refused];
    read.report.update(read.declared !== undefined, problems, pods);
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

function withTemplate(workload: DeclaredWorkload, featureGates: FeatureGates): DeclaredWorkload {
  const template = withoutDisabledFields(workload.template, featureGates);
  return template === workload.template ? workload : { ...workload, template };
}

/** Returns the file or URL of a source that declares the object with this key. */
function whereIn({ source }: Read, key: string): string {
  return source.fileOf?.(key) ?? source.where;
}

function hasPod(pods: readonly Pod[] = [], { namespace, name }: PodName): boolean {
  return pods.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
}
