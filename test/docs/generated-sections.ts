import { readFileSync } from 'node:fs';
import { Command, Help, type Option } from 'commander';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { type ConfigurationField, configurationFields } from '../../src/api/kubelet-configuration/schema.ts';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { registerAll } from '../../src/commands/program.ts';
import { defaultText } from '../../src/node/options/add-configuration-flags.ts';
import { configurationFlags } from '../../src/node/options/configuration-flags.ts';
import { flagsWithoutEffect } from '../../src/node/options/flags-without-effect.ts';
import { missingMetrics } from '../golden-runner/server/missing-metrics.ts';

/** A page with its generated sections written anew. `<!-- generated: NAME -->` begins one, `<!-- end -->` ends it. */
export async function regenerated(file: string): Promise<string> {
  const sections: Record<string, string> = {
    commands: await commandsText(),
    fields: fieldsText(),
    'fields without an effect': fieldsWithoutEffectText(),
    'flags without an effect': flagsWithoutEffectText(),
    metrics: metricsText(),
    'control API': controlApiText(),
  };
  const page = readFileSync(file, 'utf8').replaceAll(
    /(<!-- generated: (.*?) -->\n)[^]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => `${start}\n${sections[name] ?? `no section ${name}`}\n\n${end}`,
  );
  return format(page, { ...(await resolveConfig(file)), filepath: file });
}

/** All commands of the program. None of them can run. */
export async function registeredCommands(): Promise<Command> {
  const program = new Command('kubelet-ts');
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  await registerAll(program, { connect: unused, setExitCode: unused } as unknown as CommandDeps);
  return program;
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);
const longName = (flags: string): string => /--[a-z0-9-]+/.exec(flags)?.[0] ?? flags;
const help = new Help();

async function commandsText(): Promise<string> {
  const program = await registeredCommands();
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  const run = new Set(program.commands.find((command) => command.name() === 'run')?.options.map(lineOf));
  const uses = grouped(
    all.flatMap((command) => optionsOf(command, run)),
    lineOf,
  );
  const isShared = (option: Option): boolean => (uses.get(lineOf(option))?.length ?? 0) > 2;
  const shared = [...uses.values()].flatMap(([option]) => (option && isShared(option) ? [lineOf(option)] : []));
  return ['## Shared flags', shared.join('\n'), ...all.map((command) => commandText(command, { run, isShared }))].join(
    '\n\n',
  );
}

function commandText(
  command: Command,
  { run, isShared }: { run: ReadonlySet<string>; isShared: (option: Option) => boolean },
): string {
  const name = nameOf(command);
  const options = optionsOf(command, run);
  const shared = options.filter(isShared).flatMap(({ long = '' }) => (isEverywhere(long) ? [] : [code(long)]));
  const others = [
    ...(options.length < shownOptions(command).length ? [flagsElsewhere(name)] : []),
    ...(shared.length > 0 ? [`Shared: ${shared.join(', ')}.`] : []),
  ];
  return [
    `## ${name}`,
    `\`kubelet-ts ${name} ${command.usage().replace('[options] ', '').replace('[options]', '')}\`: ${command.description()}.`,
    options.flatMap((option) => (isShared(option) ? [] : [lineOf(option)])).join('\n'),
    others.join(' '),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The page says once that commands accept them. */
const isEverywhere = (flag: string): boolean => ['--root-dir', '--container-runtime-endpoint'].includes(flag);

const flagsElsewhere = (name: string): string =>
  name === 'run'
    ? 'Also all flags for [fields of the configuration](configuration.md#fields).'
    : 'Also the flags of `run`.';

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name();

/** Flags that --help-all shows, without those that stand elsewhere: for fields, and of `run`. */
function optionsOf(command: Command, run: ReadonlySet<string>): Option[] {
  const options = shownOptions(command).filter(({ long }) => !fieldFlags.has(long ?? ''));
  const hasFlagsOfRun = /^(run-once|validate|doctor|support-bundle)$/.test(command.name());
  return hasFlagsOfRun ? options.filter((option) => !run.has(lineOf(option))) : options;
}

const shownOptions = ({ options }: Command): Option[] => options.filter(({ hidden }) => !hidden);

const fieldFlags = new Set(configurationFlags.map(([flags]) => longName(flags)));

const lineOf = (option: Option): string => `- ${code(option.flags)}: ${help.optionDescription(option)}`;

const specialFlags: Readonly<Record<string, string>> = {
  containerRuntimeEndpoint: '--container-runtime-endpoint',
  staticPodPath: '--pod-manifest-path',
  staticPodURL: '--manifest-url',
  staticPodURLHeader: '--manifest-url-header',
};

function flagOf({ path }: ConfigurationField): string {
  const flags = configurationFlags.find(([, field]) => field === path)?.[0];
  return flags === undefined ? (specialFlags[path] ?? '') : longName(flags);
}

function fieldsText(): string {
  const rows = configurationFields()
    .filter(({ does }) => does !== undefined)
    .map((field) => [code(field.path), code(flagOf(field)), code(defaultText(field)), field.does ?? '']);
  return table(['field', 'flag', 'default', 'what it does'], rows);
}

const fieldsWithoutEffectText = (): string =>
  byReason(
    configurationFields().flatMap((field) =>
      field.without === undefined
        ? []
        : [{ reason: field.without, name: [code(field.path), code(flagOf(field))].filter(Boolean).join(' ') }],
    ),
  );

const flagsWithoutEffectText = (): string =>
  byReason(flagsWithoutEffect.map(([flags, reason]) => ({ reason, name: code(longName(flags)) })));

/** A line for each reason, with all that it is the reason for. */
function byReason(entries: readonly { reason: string; name: string }[]): string {
  const groups = [...grouped(entries, ({ reason }) => reason)];
  return groups.map(([reason, group]) => `- ${reason}: ${group.map(({ name }) => name).join(', ')}`).join('\n');
}

function controlApiText(): string {
  const { paths } = parse(readFileSync(new URL('../../docs/reference/control-api.yaml', import.meta.url), 'utf8')) as {
    paths: Record<string, Record<string, { summary?: string }>>;
  };
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary = '' }]) => [code(`${method.toUpperCase()} ${path}`), summary]),
  );
  return table(['request', 'answer'], rows);
}

/** The metrics of recorded kubelets, which `npm run golden` compares with those of the agent, without missing ones. */
function metricsText(): string {
  const recorded = JSON.parse(readFileSync(new URL('../golden/server/metrics.json', import.meta.url), 'utf8')) as {
    endpoints: Record<string, { name: string; type: string }[]>;
  };
  const missing = missingMetrics();
  const isMissing = (name: string): boolean => missing.some(({ pattern }) => pattern.test(name));
  const listOf = (families: readonly { name: string; type: string }[]): string =>
    families
      .filter(({ name }) => !isMissing(name))
      .map(({ name }) => code(name))
      .join(', ');
  return Object.entries(recorded.endpoints)
    .map(([path, families]) => `${code(path)}: ${listOf(families)}`)
    .join('\n\n');
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
