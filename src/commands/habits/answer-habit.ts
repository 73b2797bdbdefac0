import { nearestName } from '../../api/text/nearest-name.ts';
import { shellLine } from '../../text/shell-word.ts';
import { commandFirst } from './command-first.ts';
import { droppedArgs, habits } from './foreign-commands.ts';
import type { Habit } from './habit.ts';

type HabitArgs = readonly string[];

/**
 * The hint for a command line of another program, or for a mistyped one. Returns undefined if it starts with one of our
 * commands and flags of that command.
 */
export function habitHint(typed: HabitArgs, commands: readonly string[]): string | undefined {
  const words = commandFirst(typed);
  const known = habitOf(words);
  if (known !== undefined) return habitText(known, words);
  const [first = '', ...rest] = words;
  if (commands.includes(first)) return undefined;
  if (droppedArgs.includes(first)) return droppedHint(first, rest, commands);
  const near = nearestName(first, commands);
  if (near === undefined) return 'kubelet-ts --help lists all commands.';
  return `Did you mean ${shellLine(['kubelet-ts', near, ...rest])}?`;
}

function droppedHint(first: string, rest: HabitArgs, commands: readonly string[]): string {
  const next = commandWord(rest);
  if (next === undefined) return first === 'pod' ? 'Use: kubelet-ts ps' : 'kubelet-ts --help lists all commands.';
  const isCommand = commands.includes(next);
  if (first === 'pod' && !isCommand && habitOf(rest) === undefined) return `Use: ${line('ps', argumentsIn(rest))}`;
  return habitHint(rest, commands) ?? `Use: ${shellLine(['kubelet-ts', ...rest])}`;
}

const commandWord = (words: HabitArgs): string | undefined => words.find((word) => !word.startsWith('-'));

/** The most specific habit that matches these args. */
function habitOf(words: HabitArgs): Habit | undefined {
  const before = words.slice(0, words.includes('--') ? words.indexOf('--') : words.length);
  const { words: plain } = splitFlags(before);
  const fits = ({ typed, flags }: Habit): boolean => {
    const wanted = typed.split(' ');
    if (!wanted.every((word, index) => plain[index] === word)) return false;
    return flags === undefined || leadingFlags(before.slice(1)).some((flag) => flags.includes(flag));
  };
  return habits.filter(fits).toSorted((a, b) => wordCount(b) - wordCount(a))[0];
}

const wordCount = ({ typed }: Habit): number => typed.split(' ').length;

/** The flags before the second word that is neither a flag nor may be the value of one. */
function leadingFlags(words: HabitArgs): string[] {
  const isFlag = (word = ''): boolean => word.startsWith('-');
  const isValue = (before = ''): boolean => isFlag(before) && !isSwitch.test(before);
  const others = words.flatMap((word, index) => (isFlag(word) || isValue(words[index - 1]) ? [] : [index]));
  return words.slice(0, others[1]).flatMap((word) => (isFlag(word) ? (word.split('=', 1)[0] ?? '') : []));
}

/** Flags of exec and run that never have a value. */
const isSwitch = /^(-[it]+|--(stdin|tty|interactive|rm|detach))$/;

function habitText({ typed, use, advice }: Habit, words: HabitArgs): string {
  const args = argumentsIn(withoutArgs(words, typed.split(' ')));
  const command = use === undefined ? undefined : filled(use, args);
  if (command === undefined) return advice ?? '';
  return `${advice ?? 'Use:'} kubelet-ts ${command}`;
}

function filled(use: string, { words, flags }: Arguments): string {
  const values = { args: [...words, ...flags], pod: [...words.slice(0, 1), ...flags] };
  const hasNames = words.length > 0 || flags.some((flag) => ['-f', '--filename', '-l', '--selector'].includes(flag));
  return use
    .replace(/\{(args|pod)(?:\|([^}]*))?\}/g, (_match, name: 'args' | 'pod', otherwise = '') =>
      hasNames || otherwise === '' ? shellLine(values[name]) : [otherwise, shellLine(flags)].join(' ').trim(),
    )
    .trim();
}

function line(command: string, { words, flags }: Arguments): string {
  return shellLine(['kubelet-ts', command, ...words, ...flags]);
}

interface Arguments {
  words: string[];
  /** With their values. */
  flags: string[];
}

/** Flags with a value that have the same meaning in most of our commands. */
const commonFlags: HabitArgs = [
  ...['-n', '--namespace', '-c', '--container', '-l', '--selector', '-f', '--filename'],
  ...['--root-dir', '--container-runtime-endpoint'],
];
/** Flags of other programs whose value is the next arg. Both are dropped. */
const otherFlags: HabitArgs = [
  ...['-o', '--output', '--context', '--kubeconfig', '--cluster', '--user', '--server', '--tail', '--since'],
  ...['--to-revision', '--revision', '--replicas', '--timeout', '--grace-period', '--field-manager'],
];
const kinds: HabitArgs = ['pod', 'pods', 'po', 'container', 'unit'];
const workloads = /^(deploy(ments?)?|statefulsets?|sts|daemonsets?|ds|jobs?|replicasets?|rs)(\.\w+)?$/;

/** The operands and the common flags of an argument list, without the kind before a name. */
function argumentsIn(typed: HabitArgs): Arguments {
  const { words, flags } = splitFlags(typed);
  const [first = '', second] = words;
  if (second !== undefined && kinds.includes(first)) words.shift();
  else if (second !== undefined && workloads.test(first)) words.splice(0, 2, `${first}/${second}`);
  return { words, flags };
}

/** The operands before `--`, and the common flags. Drops all other flags. */
function splitFlags(typed: HabitArgs): Arguments {
  const words: string[] = [];
  const flags: string[] = [];
  for (let index = 0; index < typed.length; index += 1) {
    const word = typed[index] ?? '';
    if (word === '--') break;
    if (!word.startsWith('-') || word === '-') words.push(word);
    else {
      const hasValue = [...commonFlags, ...otherFlags].includes(word);
      const whole = typed.slice(index, hasValue ? index + 2 : index + 1);
      if (commonFlags.includes(word.split('=', 1)[0] ?? '')) flags.push(...whole);
      index += whole.length - 1;
    }
  }
  return { words, flags };
}

/** The args without the first occurrence of each of these. */
function withoutArgs(words: HabitArgs, dropped: HabitArgs): string[] {
  const left = [...words];
  for (const word of dropped) left.splice(left.indexOf(word), 1);
  return left;
}
