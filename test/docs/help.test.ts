import type { Command } from 'commander';
import { Help } from 'commander';
import { expect, test } from 'vitest';
import packageJSON from '../../package.json' with { type: 'json' };
import { documents, readDocument } from './documents.ts';
import { registeredCommands } from './generated-sections.ts';

const program = await registeredCommands();
/** With the commands of `images`. */
const all = program.commands.flatMap((command) => [command, ...command.commands]);

test.each(program.commands.map((command): [string, Command] => [command.name(), command]))(
  'the help of %s has examples',
  (_name, command) => {
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
    expect(text).toMatch(/^Examples?:$/m);
  },
);

test.each(all.map((command): [string, Command] => [command.name(), command]))(
  'the help of %s shows no default in milliseconds and no empty one',
  (_name, command) => {
    const shown = command.options.map((option) => new Help().optionDescription(option));
    const isWrong = (text: string, index: number): boolean =>
      text.includes('default: [') ||
      (command.options[index]?.flags.includes('<duration>') === true && /default: [1-9]\d*\)/.test(text));
    expect(shown.filter(isWrong)).toEqual([]);
  },
);

test('the README begins with a picture and names the two commands of a developer', () => {
  const readme = readDocument('README.md');
  expect(readme).toMatch(/<picture>[^]*screen-dark\.svg[^]*screen-light\.svg[^]*<\/picture>/);
  expect(readme).toMatch(/## Develop\n\n```console\n\$ npm run demo .*\n\$ npm test /);
});

test('the npm scripts that the documents name exist', () => {
  const named = documents.flatMap((document) =>
    [...readDocument(document).matchAll(/npm run ([a-z:-]+)/g)].map(([, script = '']) => script),
  );
  expect(named.filter((script) => !Object.hasOwn(packageJSON.scripts, script))).toEqual([]);
});
