import type { ConfigObject } from '../../src/api/values/config-object.ts';
import type { DeclaredWorkload } from '../../src/api/values/workload.ts';
import { loadManifest } from '../../src/engine/config/load-manifest.ts';
import type { Pod } from '../../src/api/types.ts';
import type { PodSource } from '../../src/engine/config/pod-source.ts';
import type { SourceName } from '../../src/api/values/config-annotations.ts';
import type { ManifestProblem } from '../../src/engine/view/events.ts';

type Sink = Parameters<PodSource['run']>[0];

/** A source whose pods the test sets. Until the test sets some, the source counts as not read. */
export class ManualSource implements PodSource {
  readonly source: SourceName;
  readonly where: string;
  #sink: Sink | undefined;
  #pods: Pod[] | undefined;
  #derivedUIDs: string[] = [];
  #workloads: DeclaredWorkload[] = [];
  #configObjects: ConfigObject[] = [];
  #declaresNothing = false;

  constructor(source: SourceName = 'file', where = `<${source}>`) {
    this.source = source;
    this.where = where;
  }

  /** Declares exactly these pods from now on. */
  set(...pods: Pod[]): void {
    this.#pods = pods;
    this.#workloads = [];
    this.#declaresNothing = false;
    this.#derivedUIDs = [];
    this.#handOver();
  }

  /** Declares exactly what this manifest does from now on. */
  setManifest(text: string, nodeName = 'edge1'): void {
    const { pods, workloads, derivedUIDs, configObjects } = loadManifest(Buffer.from(text), this.where, { nodeName });
    this.#pods = pods;
    this.#workloads = workloads ?? [];
    this.#derivedUIDs = derivedUIDs ?? [];
    this.#configObjects = configObjects;
    this.#declaresNothing = false;
    this.#handOver();
  }

  /** Explicitly declares an empty list. */
  setNothing(): void {
    this.#pods = [];
    this.#workloads = [];
    this.#declaresNothing = true;
    this.#handOver();
  }

  /** Like `set`, for manifests that set no UID. */
  setDerived(...pods: Pod[]): void {
    this.#pods = pods;
    this.#workloads = [];
    this.#derivedUIDs = pods.map(({ metadata }) => metadata.uid);
    this.#handOver();
  }

  /** Declares exactly these ConfigMaps and Secrets from now on. */
  setConfigObjects(...objects: ConfigObject[]): void {
    this.#configObjects = objects;
    this.#handOver();
  }

  complain(...problems: ManifestProblem[]): void {
    this.#sink?.onProblems(problems);
  }

  run(sink: Sink, signal: AbortSignal): Promise<void> {
    this.#sink = sink;
    this.#handOver();
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
  }

  #handOver(): void {
    if (this.#pods === undefined) return;
    const { source, where } = this;
    const [configObjects, derivedUIDs] = [this.#configObjects, this.#derivedUIDs];
    this.#sink?.onUpdate({
      source,
      where,
      pods: this.#pods,
      configObjects,
      workloads: this.#workloads,
      problems: [],
      derivedUIDs,
      ...(this.#declaresNothing && { declaresNothing: true }),
    });
  }
}
