import { readdirSync, readFileSync } from 'node:fs';
import { Command, Help, type Option } from 'commander';
import { expect, test } from 'vitest';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { registerAll } from '../../src/commands/program.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
// Every flag for a field of the configuration is there.
const fields = readFileSync(new URL('../../docs/reference/configuration-fields.md', import.meta.url), 'utf8');
const packageJSON = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: Record<string, string>;
};

const program = await registered();

test.each(program.commands.map((command) => command.name()))('the README has command %s in its table', (name) => {
  expect(readme).toContain(`| \`kubelet-ts ${name}`);
});

/** With the commands of `images`. */
const all = program.commands.flatMap((command) => [command, ...command.commands]);

test.each(all.map((command): [string, Command] => [command.name(), command]))(
  'the README, or the list of configuration fields, names every flag of %s',
  (_name, command) => {
    const shown = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '');
    const flags = shown.filter((flag) => !readme.includes(flag) && !fields.includes(`\`${flag}\``));
    expect(flags).toEqual([]);
  },
);

test('the README names no flag that no command has', () => {
  const known = new Set(all.flatMap((command) => command.options.map(({ long }) => long)));
  const named = new Set([...readme.matchAll(/(?<![\w-])--[a-z][a-z0-9-]+/g)].map(([flag]) => flag));
  expect([...named].filter((flag) => !known.has(flag) && flag !== '--help')).toEqual([]);
});

test('the README names every choice that a flag has', () => {
  const lines = readme.split('\n');
  const isNamed = (words: string[]): boolean => lines.some((line) => words.every((word) => line.includes(word)));
  const missing = all.flatMap(({ options }) =>
    options.filter(
      ({ hidden, flags, argChoices }) =>
        !hidden && argChoices !== undefined && !isNamed([flags.split(/[ ,]/)[0] ?? '', ...argChoices]),
    ),
  );
  expect(missing.map(({ flags }) => flags)).toEqual([]);
});

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

/** The cells of the rows below a heading of the README, without the head. */
function rowsBelow(heading: string): string[][] {
  const [, section = ''] = readme.split(`\n${heading}\n`);
  const [body = ''] = section.split(/^#/m);
  const rows = body.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

/** All flags in a text, short ones too. */
const flagsIn = (text: string): string[] => text.match(/(?<![\w-])--?[a-zA-Z][a-z0-9-]*/g) ?? [];

const commandCalled = (words: string): Command | undefined =>
  words
    .split(' ')
    .reduce<Command | undefined>((parent, word) => parent?.commands.find((one) => one.name() === word), program);

test('the README gives each command exactly its flags', () => {
  const [[, ofAll = ''] = [], ...rows] = rowsBelow('### Flags of the other commands');
  const shown = ({ options }: Command): string[] =>
    options.flatMap(({ hidden, short, long }) => (hidden ? [] : [short ?? '', long ?? '']));
  const ofRun = commandCalled('run');
  const others = all.filter((command) => !wordsOf(command).startsWith('run'));
  const differences = others.flatMap((command) => {
    const words = wordsOf(command);
    const own = rows.filter(([names = '']) => names.includes(`\`${words}\``)).map(([, flags = '']) => flags);
    const [, description = ''] = rowsBelow('## Commands').find(([call = '']) => isCallOf(call, words)) ?? [];
    const text = own.join();
    const named = new Set([ofAll, text, description].flatMap(flagsIn));
    const known = new Set(shown(command));
    const isOfRun = text.includes('those of `run`');
    const missing = [...known].filter((flag) => flag !== '' && !named.has(flag));
    const inherited = new Set(isOfRun && ofRun ? shown(ofRun) : []);
    return [
      ...missing.filter((flag) => !inherited.has(flag)).map((flag) => `${words} has ${flag}`),
      ...flagsIn(text).flatMap((flag) => (known.has(flag) ? [] : [`${words} has no ${flag}`])),
    ];
  });
  expect(differences).toEqual([]);
  const alone = all.filter(({ commands, options }) => commands.length === 0 && !options.some(isRootDir)).map(wordsOf);
  expect(alone).toEqual(['install-service', 'uninstall-service', 'licences', 'completion']);
});

const isRootDir = ({ long }: Option): boolean => long === '--root-dir';

/** `images pull` for the command `pull` of `images`. */
function wordsOf(command: Command): string {
  const parent = command.parent?.name() ?? '';
  return program.commands.includes(command) ? command.name() : `${parent} ${command.name()}`;
}

const isCallOf = (call: string, words: string): boolean => new RegExp(`^\`kubelet-ts ${words}(?![\\w-])`).test(call);

test('the README gives each flag of run and run-once its default', () => {
  const options = ['run', 'run-once'].flatMap((name) => commandCalled(name)?.options ?? []);
  /** The zero values of Go are no default in a help text. */
  const isZero = (text: string): boolean => ['', '0', '0s', 'off', 'false'].includes(text);
  const same = (one: string, other: string): boolean => one === other || (isZero(one) && isZero(other));
  const rows = rowsBelow('### Flags of `run` and `run-once`');
  const wrong = rows.flatMap(([cell = '', preset = '']) => {
    const flag = flagsIn(cell).at(-1) ?? '';
    const option = options.find(({ long }) => long === flag);
    const [, described] = /\(default: (.*?)\)/.exec(option?.description ?? '') ?? [];
    const own: unknown = option?.defaultValue;
    const actual = described ?? (typeof own === 'string' ? own : '');
    const named =
      { on: 'true', off: 'false' }[preset] ?? /^`([^`]*)`$/.exec(preset)?.[1] ?? (preset === '' ? '' : undefined);
    // Otherwise the default is a sentence.
    return named === undefined || same(named, actual) ? [] : [{ flag, named, actual }];
  });
  expect(rows.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});

test('the README links every page of docs', () => {
  const pages = readdirSync(new URL('../../docs', import.meta.url), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.includes('decisions/20'),
  );
  expect(pages.filter((name) => !readme.includes(`(docs/${name})`))).toEqual([]);
});

test('the npm scripts that the documents name exist', () => {
  const documents = ['README.md', 'CONTRIBUTING.md'].map((name) =>
    readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'),
  );
  const named = documents.flatMap((text) => [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, script = '']) => script));
  expect(named.filter((script) => packageJSON.scripts[script] === undefined)).toEqual([]);
});

async function registered(): Promise<Command> {
  const root = new Command();
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  await registerAll(root, { connect: unused, setExitCode: unused } as unknown as CommandDeps);
  return root;
}
