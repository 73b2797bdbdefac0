const options = ['--env-file', '--env-file-if-exists'];
/** Major versions of Node that have both names as texts. 22 and 26 have parts of them in their machine code. */
const majors = [20, 24];

/**
 * Node without its options for files of variables. It would read the file of `run-once --env-file` before the program
 * starts, and take its own options from there. Their names get a character that a command line rarely has.
 */
export function withoutEnvFile(node, major) {
  if (!majors.includes(major)) throw new Error(`the executable is made with Node ${majors.join(' or ')}, not ${major}`);
  for (const option of options) {
    // Newer releases have the name with "=" as well.
    const places = [`${option}\0`, `${option}=\0`].flatMap((text) => textsAt(node, text));
    if (places.length === 0) throw new Error(`this Node does not have ${option}`);
    for (const at of places) node.write('\x01', at + '--'.length);
  }
  return node;
}

/** Where the text begins. Texts in V8's snapshot have their length before them, and stay as they are. */
function textsAt(node, text) {
  const places = [];
  const name = text.slice(0, -1);
  for (let at = node.indexOf(`\0${text}`); at >= 0; at = node.indexOf(`\0${text}`, at + 1)) {
    if (at < 3 || node.readUInt32LE(at - 3) !== name.length) places.push(at + 1);
  }
  return places;
}
