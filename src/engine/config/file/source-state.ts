import type { SourceName } from '../../../api/values/config-annotations.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';

/** State that the file source saves for its next run, in addition to the manifests. */
export interface SourceState {
  /** By manifest path: its mount point, except the root. */
  mountPoints: Map<string, string>;
  /** By key of each object that several files declare: their paths, the owner first. */
  contested: Map<string, readonly string[]>;
}

/** The format on disk. */
interface SavedState {
  mountPoints?: Record<string, string>;
  contested?: Record<string, string[]>;
}

/** The state is stored like a manifest with this path, which is not a real one. */
export const stateOrigin = 'notes of the file source';

/** Loads the state of the last run. Returns empty maps if none was saved. */
export async function loadState(source: SourceName, lastGood: LastGoodManifests | undefined): Promise<SourceState> {
  const saved = await lastGood?.load(source, stateOrigin);
  // The cast is safe, because only `saveState` writes this file and its hash was checked.
  const { mountPoints = {}, contested = {} } = JSON.parse(Buffer.from(saved?.body ?? '{}').toString()) as SavedState;
  return { mountPoints: new Map(Object.entries(mountPoints)), contested: new Map(Object.entries(contested)) };
}

/** Saves the state unless it is unchanged. Never rejects. */
export function saveState(
  source: SourceName,
  lastGood: LastGoodManifests | undefined,
  { mountPoints, contested }: SourceState,
): void {
  if (mountPoints.size + contested.size === 0) {
    void lastGood?.remove(source, stateOrigin);
    return;
  }
  const state = { mountPoints: Object.fromEntries(mountPoints), contested: Object.fromEntries(contested) };
  void lastGood?.save(source, stateOrigin, Buffer.from(JSON.stringify(state)));
}
