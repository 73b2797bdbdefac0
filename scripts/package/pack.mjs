// Joins files into one. Node reads the length of each asset of an executable at its start, and so loads a page of each
// from the disk cache: 5 ms for 190 of them.

/** A pack of named files, and the place of each: the name of the pack, its offset and length. */
export function packed(name, files) {
  const places = {};
  let offset = 0;
  for (const [file, bytes] of files) {
    places[file] = [name, offset, bytes.length];
    offset += bytes.length;
  }
  return { name, bytes: Buffer.concat(files.map(([, bytes]) => bytes)), places };
}
