// Reports a Node that is too old to load the program. It runs on old Nodes itself, so this file has no modern
// JavaScript.
var needed = [20, 19];
var found = process.versions.node.split('.').map(Number);

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  console.error('error: kubelet-ts needs Node ' + needed.join('.') + ' or newer, this is ' + process.versions.node);
  console.error('hint: Install a newer Node, or the Debian package of kubelet-ts, which brings its own.');
  process.exit(process.argv[2] === 'diff' ? 2 : 1);
}
