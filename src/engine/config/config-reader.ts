import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import { Claims, podKeys } from '../../api/values/claims.ts';
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
import { isMirrorPod } from '../../api/values/config-annotations.ts';
import { PodConfig, type PodUpdate, type SourceId } from './pod-config.ts';
import type { PodSource, SourceUpdate } from './pod-source.ts';

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

/** All that is known of a source. */
interface Read {
  readonly id: SourceId;
  readonly source: PodSource;
  readonly snapshot: SourceSnapshot;
  /** The pods of its last list; undefined: there was none. */
  declared: readonly Pod[] | undefined;
  /** What is wrong, as the source reports it. */
  problems: ManifestProblem[];
  /** Objects that stay as they were. */
  immutable: ManifestProblem[];
  /** Pods that another source has. */
  taken: ManifestProblem[];
}

/**
 * Runs the sources, merges what they declare, and remembers what is wrong with it. Of two sources that declare one pod,
 * the first one has it until it declares it no more, so that no source takes a pod from another. The kubelet lets both
 * have it, and stops it when either lets go. kubelet: config/config.go
 */
export class ConfigReader {
  /** In the order of the sources. */
  readonly sourceIds: readonly SourceId[];
  private readonly deps: Deps;
  private readonly podConfig = new PodConfig();
  private readonly claims = new Claims<Read>();
  private readonly reads: readonly Read[];

  constructor(deps: Deps) {
    this.deps = deps;
    this.reads = deps.sources.map((source, index) => ({
      id: { id: `${source.source}#${index}`, source: source.source },
      source,
      snapshot: { source: source.source, where: source.where, ready: false, pods: 0, problems: [] },
      declared: undefined,
      problems: [],
      immutable: [],
      taken: [],
    }));
    this.sourceIds = this.reads.map(({ id }) => id);
  }

  /** Reads every source until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { faults } = this.deps;
    const runOne = (read: Read): Promise<void> =>
      faults.keepRunning(`source ${read.id.id}`, () => this.read(read, signal), signal);
    await Promise.all(this.reads.map(runOne));
  }

  /**
   * Resolves once what the sources declared at the time of the call was handed to `onUpdate`, as far as they can say.
   */
  async settled(): Promise<void> {
    await Promise.all(this.deps.sources.map(async (source) => source.settle?.()));
  }

  /** The updates of a configuration without any pod. They are not handed to `onUpdate`. */
  declareNothing(): PodUpdate[] {
    const now = this.deps.clock.now();
    return this.sourceIds.flatMap((source) => this.podConfig.merge(source, [], now).updates);
  }

  /** True if some source has a pod of this full name, as it was read last. */
  declares(fullName: string): boolean {
    return this.podConfig.declares(fullName);
  }

  snapshot(): SourceSnapshot[] {
    return this.reads.map(({ snapshot }) => ({ ...snapshot }));
  }

  private read(read: Read, signal: AbortSignal): Promise<void> {
    return read.source.run(
      {
        onUpdate: (update) => {
          this.take(read, update);
        },
        onProblems: (problems) => {
          read.problems = problems;
          this.remember(read);
        },
      },
      signal,
    );
  }

  private take(read: Read, { pods, problems, configObjects: objects = [] }: SourceUpdate): void {
    const { configObjects, featureGates, onConfigObjectsChanged, secrets } = this.deps;
    const { id } = read.id;
    read.declared = pods.filter((pod) => !isMirrorPod(pod)).map((pod) => withoutDisabledFields(pod, featureGates));
    read.problems = problems;
    // Before anything is told of them.
    secrets.set(id, secretsOf(objects));
    secrets.setPublicNames(id, publicNames(read.declared));
    const { changed, refused } = configObjects.replace(id, objects);
    if (changed.length > 0) onConfigObjectsChanged(changed);
    read.immutable = refused.map((key) => immutable(key, read.source.where));
    this.claims.set(read, read.declared.flatMap(podKeys));
    // What it let go may be what another one lacked.
    const lacking = this.reads.filter((other) => other !== read && other.taken.length > 0);
    for (const concerned of [read, ...lacking]) this.merge(concerned);
  }

  /** Hands on what changed in what a source has. */
  private merge(read: Read): void {
    const { clock, emit, onUpdate } = this.deps;
    const pods: Pod[] = [];
    read.taken = [];
    for (const pod of read.declared ?? []) {
      const key = this.claims.taken(read, podKeys(pod));
      if (key === undefined) pods.push(pod);
      else read.taken.push(this.taken(read, key));
    }
    const { updates, duplicates } = this.podConfig.merge(read.id, pods, clock.now());
    for (const pod of duplicates) {
      const message = `pod ${pod.metadata.namespace}/${pod.metadata.name} is declared twice`;
      podEventRecorder(emit, pod).warning(reasons.failedValidation, message);
    }
    this.remember(read, pods.length);
    for (const update of updates) onUpdate(update);
  }

  /** `pods` undefined: there is no new list, the pods stay. */
  private remember({ snapshot, ...read }: Read, pods = snapshot.pods): void {
    const problems = [...read.problems, ...read.immutable, ...read.taken];
    this.tellOfLastGood(snapshot.problems, problems);
    const isReady = read.declared !== undefined;
    const isNewList = pods !== snapshot.pods || isReady !== snapshot.ready;
    const isNews = isNewList || !isSameList(snapshot.problems, problems);
    Object.assign(snapshot, { problems, pods, ready: isReady, lastReadAt: this.deps.clock.now() });
    const { source, where } = snapshot;
    if (isNews) this.deps.emit({ type: 'SourceRead', source, where, pods, problems });
  }

  /** Makes an event when a last good manifest replaces a broken one, and when the manifest is good again. */
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

  private taken(read: Read, key: string): ManifestProblem {
    const isUID = key.startsWith('UID/');
    const what = isUID ? key.replace('/', ' ') : key.replace('Pod/', 'pod ');
    return {
      origin: read.source.where,
      field: isUID ? 'metadata.uid' : 'metadata.name',
      message: `${what} is declared by ${this.claims.owner(key)?.source.where ?? ''} already`,
      hint: 'It is taken from here when it is declared there no more.',
      severity: 'error',
    };
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
