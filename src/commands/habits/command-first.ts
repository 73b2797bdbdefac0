/** Flags that kubectl allows before its command, with a value. */
const withValue: readonly string[] = ['-n', '--namespace', '--root-dir', '--container-runtime-endpoint'];

/** A command line of kubectl as this program parses it: flags after the command, and without the word `pod`. */
export function ownArgs(args: readonly string[]): string[] {
  return withList(withWorkload(withoutKind(commandFirst(args))));
}

/** Commands that accept only pods, so that the kind before a name can be dropped. */
const podCommands: readonly string[] = [
  ...['attach', 'checkpoint', 'debug', 'events', 'explain', 'history', 'hold', 'logs', 'restart', 'retry', 'rollback'],
  ...['start', 'stop', 'unhold'],
];

/** `images` with only flags lists images, as in docker. */
function withList(args: readonly string[]): string[] {
  const [command, next = '-'] = args;
  const isList = command === 'images' && next.startsWith('-') && !['-h', '--help'].includes(next);
  return isList ? args.toSpliced(1, 0, 'list') : [...args];
}

function withoutKind(args: readonly string[]): string[] {
  const { command, at, kind, next } = firstArguments(args);
  const isKind = ['pod', 'pods', 'po'].includes(kind) && !next.startsWith('-');
  return podCommands.includes(command) && isKind ? args.toSpliced(at, 1) : [...args];
}

/** `describe deploy web` means `describe deploy/web`. `job` may be the name of a pod. */
function withWorkload(args: readonly string[]): string[] {
  const { command, at, kind, next } = firstArguments(args);
  const isKind =
    /^(deploy|deployments?|sts|statefulsets?|ds|daemonsets?)(\.apps)?$/.test(kind) && !next.startsWith('-');
  const namesPods = [...podCommands, 'describe', 'get', 'top', 'wait'].includes(command);
  return namesPods && isKind ? args.toSpliced(at, 2, `${kind}/${next}`) : [...args];
}

/** The command, its first argument, which may be a kind, and the word after that. */
function firstArguments(args: readonly string[]): { command: string; at: number; kind: string; next: string } {
  const [command = ''] = args;
  const isValue = (index: number): boolean => withValue.includes(args[index - 1] ?? '');
  const at = args.findIndex((word, index) => index > 0 && !word.startsWith('-') && !isValue(index));
  const [kind = '', next = '-'] = at < 0 ? [] : args.slice(at);
  return { command, at, kind, next };
}

/**
 * Moves flags after the command: `-n kube-system get pods` becomes `get -n kube-system pods`. Flags of the whole
 * program, such as `--help`, stay. `groups` are commands with subcommands.
 */
export function commandFirst(args: readonly string[], groups: readonly string[] = ['images']): string[] {
  let at = 0;
  while (args[at]?.startsWith('-') === true && isMovable(args[at])) at += withValue.includes(args[at] ?? '') ? 2 : 1;
  const end = at + (groups.includes(args[at] ?? '') ? 2 : 1);
  return [...args.slice(at, end), ...args.slice(0, at), ...args.slice(end)];
}

/** A namespace, a root-dir or a runtime, or all namespaces. */
function isMovable(word = ''): boolean {
  return [...withValue, '-A', '--all-namespaces'].includes(word.split('=', 1)[0] ?? '');
}
