import { podKey } from '../api/values/pod-names.ts';
import type { PodSnapshot } from '../engine/view/snapshot.ts';
import { shellLine } from '../text/shell-word.ts';

/** Effect of a command of the screen: it only reads, changes something, stops something, or needs the terminal. */
type Effect = 'reads' | 'changes' | 'stops' | 'takes the terminal';

const effects: Readonly<Record<string, Effect>> = {
  ps: 'reads',
  get: 'reads',
  top: 'reads',
  describe: 'reads',
  explain: 'reads',
  events: 'reads',
  history: 'reads',
  logs: 'reads',
  wait: 'reads',
  diff: 'reads',
  validate: 'reads',
  start: 'changes',
  retry: 'changes',
  hold: 'changes',
  unhold: 'changes',
  cp: 'changes',
  checkpoint: 'changes',
  'port-forward': 'changes',
  restart: 'stops',
  stop: 'stops',
  rollback: 'stops',
  exec: 'takes the terminal',
  attach: 'takes the terminal',
};

/** Commands about a pod, which is the selected one if none is named. */
const podCommands = [
  ...['describe', 'explain', 'history', 'logs', 'wait', 'exec', 'attach', 'checkpoint', 'port-forward'],
  ...['start', 'retry', 'hold', 'unhold', 'restart', 'stop', 'rollback'],
];

/** Flags of these commands whose value is a separate argument. */
const valueFlags = [
  ...['-c', '--container', '-n', '--namespace', '--tail', '--since', '--since-time', '--limit-bytes'],
  ...['--to', '--timeout', '--for', '-l', '--selector', '-o', '--output'],
];

/** The command line with the pod, unless it names one or selects pods otherwise. */
function withPod(args: readonly string[], { pod, container }: Selected): readonly string[] {
  const [verb = '', ...more] = args;
  const end = more.indexOf('--');
  const own = end < 0 ? more : more.slice(0, end);
  const isPod = (word: string): boolean => verb !== 'port-forward' || !/^\d*:?\d+$/.test(word);
  const isNamed = own.some(
    (word, index) => !word.startsWith('-') && !valueFlags.includes(own[index - 1] ?? '') && isPod(word),
  );
  if (pod === undefined || !podCommands.includes(verb) || isNamed) return args;
  if (own.some((word) => ['--all', '-l', '--selector'].includes(word))) return args;
  if (verb !== 'exec') return [verb, pod, ...more];
  const program = end < 0 ? ['--', 'sh'] : more.slice(end);
  const tty = own.some((word) => /^-[it]/.test(word)) ? [] : ['-it'];
  const isChosen = own.some((word) => /^(-c|--container)/.test(word));
  return [verb, ...tty, ...own, ...(isChosen || container === undefined ? [] : ['-c', container]), pod, ...program];
}

/** The selected pod, and its first running container if that is not its first one. */
interface Selected {
  pod: string | undefined;
  container?: string | undefined;
}

/** The first running container of a pod whose first one does not run. Returns undefined if `exec` finds it itself. */
export function runningContainer({ pod }: Pick<PodSnapshot, 'pod'>): string | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const isRunning = (name: string): boolean =>
    statuses.some((status) => status.name === name && status.state?.running !== undefined);
  const names = pod.spec.containers.map(({ name }) => name);
  const first = names.find(isRunning);
  return first === names[0] ? undefined : first;
}

/** What the screen does with a command line. */
export type CommandDecision =
  { type: 'shows' | 'asks' | 'takesTerminal'; args: readonly string[] } | { type: 'refuses'; message: string };

/** Decides what to do with a command line without the program name. */
export function decideCommand(
  args: readonly string[],
  { isReadOnly, isConfirmed, ...selected }: { isReadOnly: boolean; isConfirmed: boolean } & Selected,
): CommandDecision {
  const [verb = ''] = args;
  const effect = Object.hasOwn(effects, verb) ? effects[verb] : undefined;
  if (effect === undefined)
    return { type: 'refuses', message: `"${verb}" is not a command of the screen; ? lists them` };
  if (isReadOnly && effect !== 'reads')
    return { type: 'refuses', message: `${verb} changes pods: the screen is read-only` };
  const whole = withPod(args, selected);
  if (effect === 'stops' && !isConfirmed) return { type: 'asks', args: whole };
  return { type: effect === 'takes the terminal' ? 'takesTerminal' : 'shows', args: whole };
}

/** The command line with flags after its verb, added only once. */
export function withFlags(args: readonly string[], flags: readonly string[]): readonly string[] {
  return flags.every((flag) => args.includes(flag)) ? args : [args[0] ?? '', ...flags, ...args.slice(1)];
}

/** Splits a line into args. Quotes keep spaces. */
export function splitArgs(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}

/** The line as a user would type it in a shell. */
export const commandText = (args: readonly string[]): string => shellLine(['kubelet-ts', ...args]);

/** The name of a pod for a command line: a shorter name may also match other pods, such as those without an agent. */
export function podArgument({ pod: { metadata } }: Pick<PodSnapshot, 'pod'>): string {
  return podKey(metadata);
}

/** The command lines of keys. Capitals change the pod. */
export function commandOfKey(input: string, pod: string, container?: string): readonly string[] | undefined {
  switch (input) {
    case 'l':
      return ['logs', '-f', '--tail', '500', pod];
    case 'L':
      return ['logs', '-p', pod];
    case 'x':
      return ['explain', pod];
    case 'd':
      return ['describe', pod];
    case 'y':
      return ['ps', pod, '-o', 'yaml'];
    case 's':
      return withPod(['exec'], { pod, container });
    case 'R':
      return ['restart', pod];
    case 'S':
      return ['stop', pod];
    case 'U':
      return ['start', pod];
    case 'T':
      return ['retry', pod];
    default:
      return undefined;
  }
}

/** A command line of `logs` changed by a key: `t` timestamps, `p` previous instance, `c` next container. */
export function changedLogs(
  args: readonly string[],
  input: string,
  containers: readonly string[],
): readonly string[] | undefined {
  if (args[0] !== 'logs') return undefined;
  if (input === 't') return toggled(args, '--timestamps');
  if (input === 'p') return args.includes('-p') ? withFollow(toggled(args, '-p')) : toggled(withoutFollow(args), '-p');
  if (input !== 'c' || containers.length < 2) return undefined;
  const at = args.indexOf('-c');
  const rest = at < 0 ? args : args.filter((_word, index) => index !== at && index !== at + 1);
  // Without a name, logs shows the first one.
  const shown = at < 0 ? 0 : containers.indexOf(args[at + 1] ?? '');
  return [...rest, '-c', containers[(shown + 1) % containers.length] ?? ''];
}

function toggled(args: readonly string[], flag: string): readonly string[] {
  return args.includes(flag) ? args.filter((word) => word !== flag) : [args[0] ?? '', flag, ...args.slice(1)];
}

const withoutFollow = (args: readonly string[]): readonly string[] => args.filter((word) => word !== '-f');
const withFollow = (args: readonly string[]): readonly string[] => (args.includes('-f') ? args : toggled(args, '-f'));
