import type { Command } from 'commander';

/** The man page (section 8) of a command, in roff, from the descriptions that --help shows. */
export function manPage(command: Command, { name, version }: { name: string; version: string }): string {
  const title = name.replaceAll(' ', '-');
  const options = command.options.filter(({ hidden }) => !hidden);
  const examples = trailingHelp(command);
  const help = command.createHelp();
  return lines(
    `.TH ${quoted(title.toUpperCase())} 8 "" ${quoted(`kubelet-ts ${version}`)} "kubelet-ts"`,
    '.SH NAME',
    `${text(title)} \\- ${text(firstSentence(command.description()))}`,
    '.SH SYNOPSIS',
    `.B ${text(name)}`,
    text(command.usage()),
    '.SH DESCRIPTION',
    text(command.description()),
    ...section(
      'COMMANDS',
      command.commands.map((one) => entry(`${name} ${one.name()}`, one.description())),
    ),
    ...section(
      'ARGUMENTS',
      command.registeredArguments.map((one) => entry(one.name(), help.argumentDescription(one))),
    ),
    ...section(
      'OPTIONS',
      options.map((one) => entry(one.flags, help.optionDescription(one))),
    ),
    ...(examples === '' ? [] : ['.SH NOTES', '.nf', text(examples), '.fi']),
  );
}

/** The names of all pages, as typed: the program, its commands and their subcommands. */
export function pageNames(program: Command, name = 'kubelet-ts'): string[] {
  const commands = program.commands.filter((command) => command.name() !== 'help');
  return [name, ...commands.flatMap((command) => pageNames(command, `${name} ${command.name()}`))];
}

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`;

const section = (title: string, entries: readonly string[]): string[] =>
  entries.length === 0 ? [] : [`.SH ${title}`, ...entries];

const entry = (term: string, meaning: string): string => `.TP\n.B ${text(term)}\n${text(meaning)}`;

/** The text that addHelpText added after the options. */
function trailingHelp(command: Command): string {
  let written = '';
  command.configureOutput({
    writeOut: (part) => {
      written += part;
    },
  });
  command.outputHelp();
  return written.slice(command.helpInformation().length).trim();
}

const firstSentence = (description: string): string => description.split(/\.\s/)[0] ?? '';

/** Escapes text so that roff prints it unchanged. A line must not start like a request. */
const text = (plain: string): string =>
  plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1');

const quoted = (plain: string): string => `"${text(plain).replaceAll('"', '\\(dq')}"`;
