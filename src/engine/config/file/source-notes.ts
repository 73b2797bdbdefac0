import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';

/** What the file source has to know of the life before, besides the manifests themselves. */
export interface SourceNotes {
  /** By path of manifests: the mount point it was on, unless that was the root. */
  mountPoints: Map<string, string>;
  /** By key of an object that several files declare: these files, the one that gives it first. */
  contested: Map<string, readonly string[]>;
}

/** As it is on disk. */
interface SavedNotes {
  mountPoints?: Record<string, string>;
  contested?: Record<string, string[]>;
}

/** Not a path: kept among the manifests, with the same care. */
export const notesOrigin = 'notes of the file source';

/** What the last life noted. Returns empty maps if there was none. */
export async function loadNotes(lastGood: LastGoodManifests | undefined): Promise<SourceNotes> {
  const saved = await lastGood?.load('file', notesOrigin);
  // Only `saveNotes` writes it, and its hash was checked.
  const { mountPoints = {}, contested = {} } = JSON.parse(Buffer.from(saved?.body ?? '{}').toString()) as SavedNotes;
  return { mountPoints: new Map(Object.entries(mountPoints)), contested: new Map(Object.entries(contested)) };
}

/** Never rejects; writes nothing if it is what was noted last. */
export function saveNotes(lastGood: LastGoodManifests | undefined, { mountPoints, contested }: SourceNotes): void {
  if (mountPoints.size + contested.size === 0) {
    void lastGood?.forget('file', notesOrigin);
    return;
  }
  const notes = { mountPoints: Object.fromEntries(mountPoints), contested: Object.fromEntries(contested) };
  void lastGood?.save('file', notesOrigin, Buffer.from(JSON.stringify(notes)));
}
