import type { SourceName } from '../../../api/values/config-annotations.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';

/** State that the file source saves for its next run, in addition to the manifests. */
export interface SourceNotes {
  /** By manifest path: its mount point, except the root. */
  mountPoints: Map<string, string>;
  /** By key of each object that several files declare: their paths, the owner first. */
  contested: Map<string, readonly string[]>;
}

/** The format on disk. */
interface SavedNotes {
  mountPoints?: Record<string, string>;
  contested?: Record<string, string[]>;
}

/** The notes are stored like a manifest with this path, which is not a real one. */
export const notesOrigin = 'notes of the file source';

/** Loads the notes of the last run. Returns empty maps if there are none. */
export async function loadNotes(source: SourceName, lastGood: LastGoodManifests | undefined): Promise<SourceNotes> {
  const saved = await lastGood?.load(source, notesOrigin);
  // The cast is safe, because only `saveNotes` writes this file and its hash was checked.
  const { mountPoints = {}, contested = {} } = JSON.parse(Buffer.from(saved?.body ?? '{}').toString()) as SavedNotes;
  return { mountPoints: new Map(Object.entries(mountPoints)), contested: new Map(Object.entries(contested)) };
}

/** Saves the notes unless they are unchanged. Never rejects. */
export function saveNotes(
  source: SourceName,
  lastGood: LastGoodManifests | undefined,
  { mountPoints, contested }: SourceNotes,
): void {
  if (mountPoints.size + contested.size === 0) {
    void lastGood?.remove(source, notesOrigin);
    return;
  }
  const notes = { mountPoints: Object.fromEntries(mountPoints), contested: Object.fromEntries(contested) };
  void lastGood?.save(source, notesOrigin, Buffer.from(JSON.stringify(notes)));
}
