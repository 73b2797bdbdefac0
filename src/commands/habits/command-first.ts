/** Flags that kubectl allows before its command, with a value. */
const withValue: readonly string[] = ['-n', '--namespace', '--root-dir', '--container-runtime-endpoint'];

/** A command line of kubectl as this program parses it: flags after the command, and without the word `pod`. */
export function ownWords(words: readonly string[]): string[] {
  return withList(withoutKind(commandFirst(words)));
}

/** Commands that name pods alone, so that the kind before a name says nothing. */
const ofPods: readonly string[] = [
  ...['attach', 'checkpoint', 'debug', 'events', 'explain', 'history', 'hold', 'logs', 'restart', 'retry', 'rollback'],
  ...['start', 'stop', 'unhold'],
];

/** `images` with flags alone lists images, as by docker. */
function withList(words: readonly string[]): string[] {
  const [command, next = '-'] = words;
  const isList = command === 'images' && next.startsWith('-') && !['-h', '--help'].includes(next);
  return isList ? words.toSpliced(1, 0, 'list') : [...words];
}

function withoutKind(words: readonly string[]): string[] {
  const [command = ''] = words;
  const isValue = (index: number): boolean => withValue.includes(words[index - 1] ?? '');
  const at = words.findIndex((word, index) => index > 0 && !word.startsWith('-') && !isValue(index));
  const [kind = '', next = '-'] = at < 0 ? [] : words.slice(at);
  const isKind = ['pod', 'pods', 'po'].includes(kind) && !next.startsWith('-');
  return ofPods.includes(command) && isKind ? words.toSpliced(at, 1) : [...words];
}

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
