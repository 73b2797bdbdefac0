import type { ConfigObject } from '../../api/values/config-object.ts';
import type { DependsOnPlace } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ManifestProblem } from '../view/events.ts';

/** The complete list of pods a source declares now (a SET), with everything that is wrong with it. */
export interface SourceUpdate {
  source: SourceName;
  where: string;
  pods: Pod[];
  /** ConfigMaps and Secrets; absent: none. */
  configObjects?: ConfigObject[];
  problems: ManifestProblem[];
  /** Where pods say what they wait for; absent: none does, or nobody knows. */
  dependsOnPlaces?: DependsOnPlace[];
}

/** Somewhere pods are declared. */
export interface PodSource {
  readonly source: SourceName;
  /** Folder, file, URL or `<stdin>`, for people. */
  readonly where: string;
  /**
   * Hands over a list at once and after every change, until the signal is aborted. `onProblems` tells what is wrong
   * when there is no new list to hand over: the pods stay as they are.
   */
  run(
    sink: { onUpdate: (update: SourceUpdate) => void; onProblems: (problems: ManifestProblem[]) => void },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Resolves once everything that was declared at the time of the call has been handed over. A source without it is
   * asked by a clock alone.
   */
  settle?(): Promise<void>;
}
