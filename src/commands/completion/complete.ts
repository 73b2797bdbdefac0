import type { Command, Option } from 'commander';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { rootDirNamed } from '../../files/root-dir.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { visibleLines } from '../../text/visible-text.ts';
import { type Candidate, containerNames, ephemeralNames, namespaceNames, podNames } from './known-names.ts';

export interface KnownCommands {
  /** All commands with their summaries. */
  commands: readonly Candidate[];
  /** Loads a command with its options. Resolves with undefined for an unknown name. */
  load: (name: string) => Promise<Command | undefined>;
}

interface CompletionDeps extends KnownCommands {
  /** The state of the agent on a root-dir. Resolves with undefined if none answers. */
  snapshot: (rootDir: string | undefined) => Promise<EngineSnapshot | undefined>;
}

/** Lines for a completion script: a word, a tab and its description. Empty if the agent does not answer. */
export async function completionText(words: readonly string[], known: KnownCommands): Promise<string> {
  const snapshot = async (rootDir = process.env['KUBELET_TS_ROOT_DIR'] ?? '') =>
    fetchSnapshot(controlSocketPath(rootDirNamed(rootDir))).catch(() => undefined);
  const candidates = await complete(words, { ...known, snapshot });
  return candidates
    .map(({ word, description }) => `${visibleLines(description === undefined ? word : `${word}\t${description}`)}\n`)
    .join('');
}

/** Words that can replace the last one. Empty if the shell should complete a file name. */
export async function complete(words: readonly string[], deps: CompletionDeps): Promise<Candidate[]> {
  const typed = joined(words);
  const current = typed.at(-1) ?? '';
  const [name = '', ...before] = typed.slice(0, -1);
  if (typed.length <= 1) return matching(deps.commands, current);
  const command = await deps.load(name);
  if (command === undefined || before.includes('--')) return [];
  const options = command.options.filter(({ hidden }) => !hidden);
  const [flag, value] = split(current);
  if (value !== undefined) {
    const found = await valuesOf(optionOf(options, flag), before, command, deps);
    return matching(found, value).map(({ word }) => ({ word: words.at(-1) === current ? `${flag}=${word}` : word }));
  }
  if (current.startsWith('-')) return matching(options.map(flagOf), current);
  const awaiting = optionOf(options, before.at(-1) ?? '');
  if (awaiting !== undefined && !awaiting.isBoolean() && !awaiting.optional) {
    return matching(await valuesOf(awaiting, before, command, deps), current);
  }
  return matching(await argumentsOf(command, before, deps), current);
}

/** Joins `--flag = value`, because bash splits words at `=`. */
function joined(words: readonly string[]): string[] {
  const result: string[] = [];
  for (const [index, word] of words.entries()) {
    const last = result.at(-1) ?? '';
    if (word === '=' && last.startsWith('--')) result[result.length - 1] = `${last}=`;
    else if (words[index - 1] === '=' && last.endsWith('=')) result[result.length - 1] = last + word;
    else result.push(word);
  }
  return result;
}

function split(word: string): [flag: string, value: string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

const matching = (candidates: readonly Candidate[], start: string): Candidate[] =>
  candidates.filter(({ word }) => word.startsWith(start));

const flagOf = ({ long, short, description }: Option): Candidate => ({ word: long ?? short ?? '', description });

const optionOf = (options: readonly Option[], flag: string): Option | undefined =>
  options.find(({ long, short }) => long === flag || short === flag);

/** Flags whose values are names in a snapshot. */
const namedOptions: readonly string[] = ['--namespace', '--container', '--target', '--remove'];

/** True for `--for <pod>`. */
const isPod = (option: Option | undefined): boolean => option?.flags.endsWith('<pod>') ?? false;

/** Candidates for the value of a flag. Empty if they are unknown, as for a path. */
async function valuesOf(
  option: Option | undefined,
  before: readonly string[],
  command: Command,
  deps: CompletionDeps,
): Promise<Candidate[]> {
  if (option?.argChoices !== undefined) return option.argChoices.map((word) => ({ word }));
  if (!namedOptions.includes(option?.long ?? '') && !isPod(option)) return [];
  const snapshot = await deps.snapshot(rootDirOf(before));
  if (snapshot === undefined) return [];
  if (isPod(option)) return podNames(snapshot, valueOf(before, '-n', '--namespace'));
  if (option?.long === '--namespace') return namespaceNames(snapshot);
  const [pod] = positional(command, before);
  return option?.long === '--remove' ? ephemeralNames(snapshot, pod) : containerNames(snapshot, pod);
}

/** Candidates for a positional argument: its choices, or pods if it names some. */
async function argumentsOf(command: Command, before: readonly string[], deps: CompletionDeps): Promise<Candidate[]> {
  const given = positional(command, before).length;
  const declared = command.registeredArguments;
  const argument = declared[given] ?? declared.findLast(({ variadic }) => variadic);
  if (argument?.argChoices !== undefined) return argument.argChoices.map((word) => ({ word }));
  if (command.commands.length > 0 && given === 0) {
    return command.commands.map((one) => ({ word: one.name(), description: one.description() }));
  }
  const name = argument?.name() ?? '';
  if (!/^(pods?|container)$/.test(name)) return [];
  const snapshot = await deps.snapshot(rootDirOf(before));
  if (snapshot === undefined) return [];
  if (name === 'container') return containerNames(snapshot, positional(command, before)[0]);
  return podNames(snapshot, valueOf(before, '-n', '--namespace'));
}

/** The words that are neither flags nor their values. */
function positional(command: Command, words: readonly string[]): string[] {
  return words.filter((word, index) => {
    if (word.startsWith('-')) return false;
    const flag = optionOf(command.options, words[index - 1] ?? '');
    return flag === undefined || flag.isBoolean() || flag.optional;
  });
}

const rootDirOf = (words: readonly string[]): string | undefined => valueOf(words, '--root-dir', '--root-dir');

function valueOf(words: readonly string[], short: string, long: string): string | undefined {
  const joinedValue = words.findLast((word) => word.startsWith(`${long}=`))?.slice(long.length + 1);
  const at = words.findLastIndex((word) => word === short || word === long);
  return joinedValue ?? (at < 0 ? undefined : words[at + 1]);
}
