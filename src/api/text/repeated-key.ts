import { excerpt } from './excerpt.ts';
import type { ManifestNote } from './manifest-node.ts';

/** More notes than this help nobody. */
const maxNotes = 50;

/** Notes that a key of an object is written again at an offset, unless there are very many notes already. */
export function noteRepeatedKey(notes: ManifestNote[], key: string, start: number): void {
  if (notes.length >= maxNotes) return;
  notes.push({
    start,
    message: `Key "${excerpt(key)}" is written more than once; the last one counts`,
    hint: 'Remove the others.',
  });
}
