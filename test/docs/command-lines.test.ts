import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { registerAll } from '../../src/commands/program.ts';

const repository = new URL('../..', import.meta.url).pathname;
const documents = [
  'README.md',
  ...readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' }).flatMap((name) =>
    name.endsWith('.md') ? [`docs/${name}`] : [],
  ),
];

const program = new Command();
await registerAll(program, {} as CommandDeps);

test('every command line of kubelet-ts in a document has a command and flags of the program', () => {
  const lines = documents.flatMap((document) =>
    commandLines(readFileSync(join(repository, document), 'utf8')).map((line) => ({ document, line })),
  );
  expect(lines.length).toBeGreaterThan(150);
  const wrong = lines.map(({ document, line }) => ({ document, line, unknown: unknownWords(line) }));
  expect(wrong.filter(({ unknown }) => unknown.length > 0)).toEqual([]);
});

/** What follows `kubelet-ts` in shell blocks, after the prompt of console blocks, and in code within a line. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```(sh|console)\n(.*?)^```$/gms)].flatMap(([, language, block = '']) => {
    const start = language === 'sh' ? /^kubelet-ts (.*)/gm : /^[$#] (?:source <\()?kubelet-ts (.*)/gm;
    return [...block.replaceAll('\\\n', ' ').matchAll(start)].map(([, line = '']) => line);
  });
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  return [...blocks, ...[...prose.matchAll(/`kubelet-ts ([^`]+)`/g)].map(([, line = '']) => line)];
}

/** The command if it does not exist, or else its flags that do not. */
function unknownWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s)])+/g) ?? [];
  // A comment, another program, or the words of a container.
  const end = words.findIndex((word) => /^(#|--|[0-9]?[<>|&;].*)$/.test(word));
  const [name = '', ...rest] = end < 0 ? words : words.slice(0, end);
  if (name.startsWith('-')) return [name].filter((flag) => flag !== '--version' && flag !== '--help');
  const command = subcommand(program, name);
  if (command === undefined) return [name];
  const [next = ''] = rest;
  const child = subcommand(command, next);
  if (child === undefined && command.commands.length > 0 && /^[a-z]/.test(next)) return [next];
  const known = flagsOf(child ?? command);
  return rest.flatMap(flagsIn).filter((flag) => !known.has(flag));
}

const subcommand = ({ commands }: Command, name = ''): Command | undefined =>
  commands.find((command) => command.name() === name || command.aliases().includes(name));

const flagsOf = ({ options }: Command): Set<string> =>
  new Set(['--help', '-h', ...options.flatMap(({ long, short }) => [long ?? '', short ?? ''])]);

/** Such as `--for` in `--for=ready`, and `-i` and `-t` in `-it`. */
function flagsIn(word: string): string[] {
  const [long] = /^--[a-z][a-z0-9-]*/.exec(word) ?? [];
  if (long !== undefined) return [long];
  const [, letters = ''] = /^-([A-Za-z]+)$/.exec(word) ?? [];
  return letters.split('').map((letter) => `-${letter}`);
}
