import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';

/** What the file source has to know of the life before, besides the manifests themselves. */
export interface FileSourceNotes {
  /** By path of manifests: the mount point it was on, unless that was the root. */
  mountPoints: Map<string, string>;
  /** By key of an object that several files declare: these files, the one that gives it first. */
  contested: Map<string, readonly string[]>;
}

/** Not a path: kept among the manifests, with the same care. */
export const notesOrigin = 'notes of the file source';

/** What the last life noted; nothing when there was none. */
export async function loadNotes(lastGood: LastGoodManifests | undefined): Promise<FileSourceNotes> {
  const saved = await lastGood?.load('file', notesOrigin);
  const notes: unknown = saved === undefined ? undefined : JSON.parse(Buffer.from(saved.body).toString('utf8'));
  return {
    mountPoints: new Map(entriesOf(notes, 'mountPoints').filter(isStringEntry)),
    contested: new Map(entriesOf(notes, 'contested').filter(isListEntry)),
  };
}

/** Never rejects; writes nothing when it is what was noted last. */
export function saveNotes(lastGood: LastGoodManifests | undefined, { mountPoints, contested }: FileSourceNotes): void {
  if (mountPoints.size + contested.size === 0) {
    void lastGood?.forget('file', notesOrigin);
    return;
  }
  const notes = { mountPoints: Object.fromEntries(mountPoints), contested: Object.fromEntries(contested) };
  void lastGood?.save('file', notesOrigin, Buffer.from(JSON.stringify(notes)));
}

function entriesOf(notes: unknown, field: string): [string, unknown][] {
  if (typeof notes !== 'object' || notes === null) return [];
  const value: unknown = Reflect.get(notes, field);
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

const isStringEntry = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';

const isListEntry = (entry: [string, unknown]): entry is [string, string[]] =>
  Array.isArray(entry[1]) && entry[1].every((item) => typeof item === 'string');
