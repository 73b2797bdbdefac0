import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes between two collections. */
const collectEveryBytes = 2 * 1024 * 1024;

let bytesSinceCollection = 0;
let collect: (() => void) | undefined;

/**
 * Must be called with the length of each part of a stream that may be endless and is mostly dropped. V8 sees little of
 * such parts, because their bytes are outside its heap, and would keep 30 to 60 MB of them. So young objects are
 * collected in between.
 */
export function notePassingBytes(bytes: number): void {
  bytesSinceCollection += bytes;
  if (bytesSinceCollection < collectEveryBytes) return;
  bytesSinceCollection = 0;
  collect ??= youngCollection();
  collect();
}

/** Returns a function that collects young objects, which takes a millisecond or two. */
function youngCollection(): () => void {
  setFlagsFromString('--expose-gc');
  // A context has the function only if it was made after the flag was set.
  const collectObjects = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  return () => {
    collectObjects({ type: 'minor' });
  };
}
