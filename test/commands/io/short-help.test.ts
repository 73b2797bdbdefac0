import { Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { addShortHelp } from '../../../src/commands/io/short-help.ts';

/** The help of a command line, in lines without indentation. */
function help(...argv: string[]): string[] {
  let text = '';
  const program = new Command('node').exitOverride().configureOutput({ writeOut: (piece) => (text += piece) });
  addShortHelp(program.command('run'), { 'Screen:': ['--no-tui'], 'Node:': ['--name'] })
    .option('--name <name>', 'its name')
    .option('--rare <n>', 'rarely needed')
    .option('--no-tui', 'log lines');
  expect(() => program.parse(argv, { from: 'user' })).toThrow(CommanderError);
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : line.trim().replaceAll(/ {2,}/g, '  ')));
}

test('--help shows the common flags in groups', () => {
  expect(help('run', '--help')).toEqual([
    'Usage: node run [options]',
    'Options:',
    '--help-all  show all flags',
    '-h, --help  display help for command',
    'Node:',
    '--name <name>  its name',
    'Screen:',
    '--no-tui  log lines',
  ]);
});

test('--help-all shows the others too', () => {
  expect(help('run', '--help-all')).toContain('--rare <n>  rarely needed');
});
