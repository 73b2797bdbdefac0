import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { register as registerAttach } from '../../src/commands/attach.ts';
import { register as registerDebug } from '../../src/commands/debug.ts';
import { register as registerCp } from '../../src/commands/cp.ts';
import { register as registerDescribe } from '../../src/commands/describe.ts';
import { register as registerDiff } from '../../src/commands/diff.ts';
import { register as registerDoctor } from '../../src/commands/doctor.ts';
import { register as registerDown } from '../../src/commands/down.ts';
import { register as registerCompletion } from '../../src/commands/completion.ts';
import { register as registerEvents } from '../../src/commands/events.ts';
import { register as registerExplain } from '../../src/commands/explain.ts';
import { register as registerExec } from '../../src/commands/exec.ts';
import { register as registerImages } from '../../src/commands/images.ts';
import { register as registerInstallService, registerUninstall } from '../../src/commands/install-service.ts';
import { register as registerLogs } from '../../src/commands/logs.ts';
import { register as registerHistory } from '../../src/commands/history.ts';
import { registerOperation } from '../../src/commands/operate.ts';
import { register as registerPortForward } from '../../src/commands/port-forward.ts';
import { register as registerPs } from '../../src/commands/ps.ts';
import { register as registerRun } from '../../src/commands/run.ts';
import { register as registerRunOnce } from '../../src/commands/run-once.ts';
import { register as registerUI } from '../../src/commands/ui.ts';
import { register as registerSupportBundle } from '../../src/commands/support-bundle.ts';
import { register as registerTop } from '../../src/commands/top.ts';
import { register as registerValidate } from '../../src/commands/validate.ts';
import { register as registerWait } from '../../src/commands/wait.ts';
import { operationActions } from '../../src/engine/operations/operation.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
// Every flag for a field of the configuration is there.
const fields = readFileSync(new URL('../../docs/configuration-fields.md', import.meta.url), 'utf8');
const packageJSON = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: Record<string, string>;
};

const program = registered();

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

test('the README links every page of docs', () => {
  const pages = readdirSync(new URL('../../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
  expect(pages.filter((name) => !readme.includes(`(docs/${name})`))).toEqual([]);
});

test('the npm scripts that the documents name exist', () => {
  const documents = ['README.md', 'CONTRIBUTING.md'].map((name) =>
    readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'),
  );
  const named = documents.flatMap((text) => [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, script = '']) => script));
  expect(named.filter((script) => packageJSON.scripts[script] === undefined)).toEqual([]);
});

function registered(): Command {
  const root = new Command();
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  const deps = { connect: unused, setExitCode: unused } as unknown as CommandDeps;
  for (const register of [
    registerAttach,
    registerDebug,
    registerCp,
    registerDescribe,
    registerHistory,
    ...operationActions.map(registerOperation),
    registerPortForward,
    registerExplain,
    registerEvents,
    registerCompletion,
    registerInstallService,
    registerUninstall,
    registerRun,
    registerRunOnce,
    registerPs,
    registerUI,
    registerTop,
    registerLogs,
    registerExec,
    registerWait,
  ]) {
    register(root, deps);
  }
  registerValidate(root, deps);
  registerDiff(root, deps);
  registerImages(root, deps);
  registerDown(root, deps);
  registerSupportBundle(root, deps);
  registerDoctor(root, deps);
  return root;
}
