import { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { manPage, pageNames } from '../../src/commands/man/man-page.ts';

test('a page has the arguments, shown flags with their defaults, and examples of its command, and escapes what roff would read', () => {
  const command = new Command('list')
    .description('List pods. All of them')
    .argument('[pods...]', '.names')
    .addOption(new Option('-o, --output <format>', 'form').choices(['json', 'yaml']).default('json').env('LIST_OUTPUT'))
    .addOption(new Option('--secret').hideHelp())
    .addHelpText('after', '\nExamples:\n  list \\ all');
  expect(manPage(command, { name: 'kubelet-ts list', version: '1.0' }))
    .toBe(`.TH "KUBELET\\-TS\\-LIST" 8 "" "kubelet\\-ts 1.0" "kubelet-ts"
.SH NAME
kubelet\\-ts\\-list \\- List pods
.SH SYNOPSIS
.B kubelet\\-ts list
[options] [pods...]
.SH DESCRIPTION
List pods. All of them
.SH ARGUMENTS
.TP
.B pods
\\&.names
.SH OPTIONS
.TP
.B \\-o, \\-\\-output <format>
form (choices: "json", "yaml", default: "json", env: LIST_OUTPUT)
.SH NOTES
.nf
Examples:
  list \\e all
.fi
`);
});

test('commands of commands have pages of their own', () => {
  const program = new Command('kubelet-ts').addCommand(
    new Command('images').addCommand(new Command('bundle')).addCommand(new Command('pull')),
  );
  program.addCommand(new Command('ps')).addCommand(new Command('help'));
  expect(pageNames(program)).toEqual([
    'kubelet-ts',
    'kubelet-ts images',
    'kubelet-ts images bundle',
    'kubelet-ts images pull',
    'kubelet-ts ps',
  ]);
});
