/** Flags that kubectl allows before its command, with a value. */
const withValue: readonly string[] = ['-n', '--namespace', '--root-dir', '--container-runtime-endpoint'];

/**
 * A command line whose flags stand after the command: `get -n kube-system pods` for `-n kube-system get pods`. Flags
 * that all of the program has, such as `--help`, stay. `groups` are commands that have commands.
 */
export function commandFirst(words: readonly string[], groups: readonly string[] = ['images']): string[] {
  let at = 0;
  while (words[at]?.startsWith('-') === true && isMovable(words[at])) at += withValue.includes(words[at] ?? '') ? 2 : 1;
  const end = at + (groups.includes(words[at] ?? '') ? 2 : 1);
  return [...words.slice(at, end), ...words.slice(0, at), ...words.slice(end)];
}

/** A namespace, a root-dir or a runtime, or all namespaces. */
function isMovable(word = ''): boolean {
  return [...withValue, '-A', '--all-namespaces'].includes(word.split('=', 1)[0] ?? '');
}
