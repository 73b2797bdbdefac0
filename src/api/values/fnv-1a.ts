const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;
const encoder = new TextEncoder();

/** The 32-bit FNV-1a hash of a text in UTF-8. Go: hash/fnv New32a */
export function fnv1a32(text: string): number {
  // Avoids an iterator, whose results are garbage until V8 optimizes the function.
  return encoder.encode(text).reduce((hash, byte) => Math.imul(hash ^ byte, prime), offsetBasis) >>> 0;
}
