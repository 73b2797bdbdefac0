import type { Manifests } from '../../api/objects/load-manifests.ts';
import type { ConfigObject } from '../../api/values/config-object.ts';
import type { DependsOnPosition } from '../../api/values/depends-on.ts';
import type { ClassPosition } from '../../api/values/resolve-classes.ts';
import type { DeclaredWorkload } from '../../api/values/workload.ts';
import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ManifestProblem } from '../view/events.ts';

/** The complete list of pods that a source declares now (a SET), with its problems. */
export interface SourceUpdate {
  source: SourceName;
  where: string;
  /** Version of the manifests, such as the id of a commit. Absent if the source has no versions. */
  version?: string;
  pods: Pod[];
  /** ConfigMaps, Secrets and classes; absent if there are none. */
  configObjects?: ConfigObject[];
  /** Workloads, such as Deployments, that own some of the pods. Absent if the list declares only pods. */
  workloads?: DeclaredWorkload[];
  problems: ManifestProblem[];
  /**
   * The positions where manifests declare dependencies of their pods. Absent if there are none, or if the positions are
   * unknown.
   */
  dependsOnPositions?: DependsOnPosition[];
  /** The positions where pods name their classes. Absent if no pod does, or if the positions are unknown. */
  classPositions?: ClassPosition[];
  /**
   * UIDs that are derived from the content of a manifest. Such a pod may keep its earlier UID. Absent if there are
   * none.
   */
  derivedUIDs?: string[];
  /** True if an empty list means on purpose that no pod should run. Absent otherwise. */
  declaresNothing?: boolean;
  /** Kinds of the objects that have errors. Absent unless all positions were requested. */
  broken?: NonNullable<Manifests['broken']>;
}

/** A folder, file, URL or stream that declares pods. */
export interface PodSource {
  readonly source: SourceName;
  /** Folder, file, URL or `<stdin>`, for display. */
  readonly where: string;
  /**
   * Calls `onUpdate` with a list at once and after every change, until the signal is aborted. Calls `onProblems` if
   * there are problems and no new list. Then the pods stay.
   */
  run(
    sink: { onUpdate: (update: SourceUpdate) => void; onProblems: (problems: ManifestProblem[]) => void },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Resolves once `onUpdate` received everything that was declared when this was called. Sources that only poll do not
   * have this method.
   */
  settle?(): Promise<void>;
  /**
   * Returns the file that owns the object with this key, one of `claimedKeys`. Absent unless the source reads files.
   */
  fileOf?(key: string): string | undefined;
}
