import { access, readFile, realpath, rm } from 'node:fs/promises';
import { isSea } from 'node:sea';
import { basename, isAbsolute, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { hasCode, UserError } from '../errors.ts';
import { given, type NodeFlags, nodeOptions } from '../node/options/node-options.ts';
import { guardScript } from '../node/upgrade/guard-script.ts';
import { programFiles } from '../node/upgrade/program-files.ts';
import { serviceMark } from '../process/service-mark.ts';
import { refuseURLs } from '../node/options/url-for-path.ts';
import { ownProgram } from '../process/own-program.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import { shownArguments } from './hide-secret-arguments.ts';
import type { CommandDeps } from './io/deps.ts';
import { runInitCommand } from './service/init-command.ts';
import { pathsIn } from './service/paths-in.ts';
import { openRCScript } from './service/openrc-script.ts';
import { packageFolders, refusePackaged } from './service/refuse-packaged.ts';
import { requireExecutable } from './service/require-executable.ts';
import type { ServiceProgram } from './service/service-program.ts';
import { systemdUnit } from './service/systemd-unit.ts';

type Init = 'systemd' | 'openrc';

interface ServiceFlags {
  dryRun?: boolean;
  init?: Init;
  name: string;
}

interface InstallFlags extends ServiceFlags {
  program: string;
}

interface Service {
  file: string;
  mode: number;
  /** `folder` is the base of relative paths in the args. */
  text: (program: ServiceProgram, args: readonly string[], name: string, folder?: string) => string;
  enable: readonly (readonly string[])[];
  start: string;
  /** Commands to run before the file is removed, and after. */
  disable: readonly (readonly string[])[];
  afterRemoval: readonly (readonly string[])[];
}

const reload = ['systemctl', 'daemon-reload'];

const services: Readonly<Record<Init, (name: string) => Service>> = {
  systemd: (name) => ({
    file: `/etc/systemd/system/${name}.service`,
    mode: 0o644,
    text: systemdUnit,
    enable: [reload, ['systemctl', 'enable', `${name}.service`]],
    start: `systemctl start ${name}`,
    disable: [['systemctl', 'disable', '--now', `${name}.service`]],
    afterRemoval: [reload],
  }),
  openrc: (name) => ({
    file: `/etc/init.d/${name}`,
    mode: 0o755,
    text: openRCScript,
    enable: [['rc-update', 'add', name, 'default']],
    start: `rc-service ${name} start`,
    disable: [
      ['rc-service', name, 'stop'],
      ['rc-update', 'del', name],
    ],
    afterRemoval: [],
  }),
};

const serviceOf = async ({ init, name }: ServiceFlags): Promise<Service> =>
  services[init ?? (await initOfMachine())](name);

export function register(program: Command, deps: CommandDeps): void {
  addServiceOptions(program.command('install-service'), 'print the service file and change nothing')
    .description('Install a service that runs kubelet-ts at boot')
    .argument('[arguments...]', 'args of run, after -- (default: /etc/kubernetes/manifests)')
    .addOption(new Option('--program <path>', 'program that the service runs').default(ownProgram(), 'this program'))
    .showHelpAfterError('(put -- before the args of run: kubelet-ts install-service -- ARGS; see --help)')
    .addHelpText('after', examples)
    .action(async (args: string[], flags: InstallFlags) => {
      refuseCommandName(args);
      refuseSecrets(args);
      const service = await serviceOf(flags);
      const arguments_ = args.length === 0 ? ['/etc/kubernetes/manifests'] : args;
      const paths = pathsIn(arguments_, await runCommand(deps));
      refuseURLs(paths);
      await refuseWrongValues(arguments_, await runCommand(deps));
      const folder = paths.every((path) => isAbsolute(path)) ? undefined : process.cwd();
      const program = resolve(flags.program);
      // A dry run may be for another machine.
      if (flags.dryRun !== true) await requireExecutable(program);
      const text = (guard?: ServiceProgram['guard']): string =>
        service.text({ program, guard }, arguments_, flags.name, folder);
      if (flags.dryRun === true) {
        deps.stdout.write(text(guardOf(program)));
        return;
      }
      await refuseOthers(service.file);
      deps.stdout.write(await install(service, text(await writeGuard(program))));
    });
}

export function registerUninstall(program: Command, deps: CommandDeps, ofPackages = packageFolders): void {
  addServiceOptions(program.command('uninstall-service'), 'print the commands and change nothing')
    .description('Stop and remove the service. Pods keep running and all data is kept')
    .addHelpText('after', uninstallExamples)
    .action(async (flags: ServiceFlags) => {
      const service = await serviceOf(flags);
      deps.stdout.write(await uninstall(service, { isDryRun: flags.dryRun === true, ofPackages }));
    });
}

const addServiceOptions = (command: Command, dryRun: string): Command =>
  command
    .option('--dry-run', dryRun)
    .option('--name <name>', 'name of the service, such as kubelet', serviceName, 'kubelet-ts')
    .addOption(
      new Option('--init <system>', 'init system (default: that of this machine)').choices(['systemd', 'openrc']),
    );

const examples = `
Examples:
  kubelet-ts install-service                               runs the pods of /etc/kubernetes/manifests
  kubelet-ts install-service -- /srv/pods --max-pods 20    passes these args to run
  kubelet-ts install-service --name kubelet                uses the name that the drop-ins of kubeadm expect
  kubelet-ts install-service --dry-run                     prints the unit

The service starts at the next boot. To start it now: systemctl start kubelet-ts`;

const uninstallExamples = `
Examples:
  kubelet-ts uninstall-service                  removes the service of install-service
  kubelet-ts uninstall-service --name kubelet   removes the service with this name
  kubelet-ts uninstall-service --dry-run        prints the commands that remove it`;

/** Characters that systemd, OpenRC and file names all accept. */
function serviceName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return name;
  throw new InvalidArgumentError('Use letters, digits, dots, dashes and underscores.');
}

/** The command `run`, for parsing. Its parser reports mistakes only as errors. */
async function runCommand(deps: CommandDeps): Promise<Command> {
  const { register: registerRun } = await import('./run.ts');
  const program = new Command().configureOutput({ writeErr: () => undefined });
  registerRun(program, deps);
  const [command] = program.commands;
  if (command === undefined) throw new Error('no command was registered');
  return command;
}

/**
 * Rejects with a `UserError` for values that `run` would refuse. Skips the check if a configuration file is named,
 * because it may be created later and decides which values are valid.
 */
async function refuseWrongValues(args: readonly string[], command: Command): Promise<void> {
  const { operands } = command.parseOptions([...args]);
  const flags = command.opts<NodeFlags>();
  if ((flags.config ?? '') !== '' || (flags.configDir ?? '') !== '') return;
  // The service may be for a machine with another name.
  await nodeOptions({ ...flags, hostnameOverride: given(flags.hostnameOverride) ?? 'node' }, operands);
}

/** Throws a `UserError` if the args start with `run`, which would name a folder. */
function refuseCommandName([first]: readonly string[]): void {
  if (first !== 'run') return;
  throw new UserError('the args start with run, which the service adds itself', {
    hint: 'Leave it out. For a file or folder of that name, write ./run.',
  });
}

/** Throws a `UserError` for secrets, because every user of a machine can read the command line of a service. */
function refuseSecrets(args: readonly string[]): void {
  const shown = shownArguments(args);
  if (args.every((word, index) => word === shown[index])) return;
  throw new UserError('the args contain a secret, which every user of this machine could read in the service file', {
    hint: 'Put it into the configuration that --config names, and make that file readable only for root.',
  });
}

async function initOfMachine(): Promise<Init> {
  if (await exists('/run/systemd/system')) return 'systemd';
  if (await exists('/run/openrc')) return 'openrc';
  throw new UserError('neither systemd nor OpenRC runs on this machine', {
    hint: 'Name one with --init. To only print its file, add --dry-run.',
  });
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Only an executable is one file, which an upgrade can replace. */
const guardOf = (program: string): ServiceProgram['guard'] =>
  isSea() ? { script: programFiles(program).guard, program } : undefined;

/** Writes the guard of upgrades next to the program. Where that folder is read-only, nothing can be upgraded. */
async function writeGuard(program: string): Promise<ServiceProgram['guard']> {
  const guard = guardOf(await realpath(program));
  if (guard === undefined) return undefined;
  try {
    await writeFileAtomic(guard.script, guardScript, 0o644);
    return guard;
  } catch (error) {
    if (hasCode(error, 'EROFS')) return undefined;
    throw error;
  }
}

/** Returns the text for the user. Rejects with a `UserError` if a command of the init system fails. */
async function install({ file, mode, enable, start }: Service, text: string): Promise<string> {
  await writeFileAtomic(file, text, mode);
  for (const args of enable) await runInitCommand(args);
  return `wrote ${file}\nstart it now: ${start}\n`;
}

interface Removal {
  /** True to change nothing and return the commands. */
  isDryRun: boolean;
  /** Folders for the units of packages. */
  ofPackages: readonly string[];
}

async function uninstall(service: Service, { isDryRun, ofPackages }: Removal): Promise<string> {
  const { file, disable, afterRemoval } = service;
  if (!(await exists(file))) await refusePackaged(basename(file), ofPackages);
  if (!(await exists(file))) return `no service is installed: there is no ${file}\n`;
  await refuseOthers(file);
  if (isDryRun) return uninstallText(service);
  for (const args of disable) await runInitCommand(args);
  await rm(file, { force: true });
  for (const args of afterRemoval) await runInitCommand(args);
  return `removed ${file}. Pods keep running; stop them: kubelet-ts down\n`;
}

/** Rejects with a `UserError` if the file belongs to another program, such as the unit of a kubelet. */
async function refuseOthers(file: string): Promise<void> {
  if (!(await exists(file)) || (await readFile(file, 'utf8')).includes(serviceMark)) return;
  throw new UserError(`${file} was not written by kubelet-ts`, {
    hint: 'Remove it first, or give the service another --name.',
  });
}

const uninstallText = ({ file, disable, afterRemoval }: Service): string =>
  [...disable, ['rm', file], ...afterRemoval].map((args) => `${args.join(' ')}\n`).join('');
