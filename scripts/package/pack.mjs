// Joins files into one. Node reads the length of each asset of an executable at its start, and so loads a page of each
// from the disk cache: 5 ms for 190 of them.

/** The pack of named files, and the place of each: its offset and length. */
export function packed(files) {
  const places = {};
  let offset = 0;
  for (const [name, bytes] of files) {
    places[name] = [offset, bytes.length];
    offset += bytes.length;
  }
  return { pack: Buffer.concat(files.map(([, bytes]) => bytes)), places };
}
