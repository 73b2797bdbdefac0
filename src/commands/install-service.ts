import { access, rm } from 'node:fs/promises';
import { isSea } from 'node:sea';
import { type Command, Option } from 'commander';
import { UserError } from '../errors.ts';
import { writeFileAtomic } from '../write-file-atomic.ts';
import { shownArguments } from './hide-secret-arguments.ts';
import type { CommandDeps } from './io/deps.ts';
import { openRCScript } from './service/openrc-script.ts';
import { systemdUnit } from './service/systemd-unit.ts';

type Init = 'systemd' | 'openrc';

interface ServiceFlags {
  dryRun?: boolean;
  init?: Init;
}

interface InstallFlags extends ServiceFlags {
  program: string;
}

interface Service {
  file: string;
  mode: number;
  text: (program: string, words: readonly string[]) => string;
  enable: readonly (readonly string[])[];
  start: string;
  /** Before the file goes, and after. */
  disable: readonly (readonly string[])[];
  forget: readonly (readonly string[])[];
}

const reload = ['systemctl', 'daemon-reload'];

const services: Readonly<Record<Init, Service>> = {
  systemd: {
    file: '/etc/systemd/system/kubelet-ts.service',
    mode: 0o644,
    text: systemdUnit,
    enable: [reload, ['systemctl', 'enable', 'kubelet-ts.service']],
    start: 'systemctl start kubelet-ts',
    disable: [['systemctl', 'disable', '--now', 'kubelet-ts.service']],
    forget: [reload],
  },
  openrc: {
    file: '/etc/init.d/kubelet-ts',
    mode: 0o755,
    text: openRCScript,
    enable: [['rc-update', 'add', 'kubelet-ts', 'default']],
    start: 'rc-service kubelet-ts start',
    disable: [
      ['rc-service', 'kubelet-ts', 'stop'],
      ['rc-update', 'del', 'kubelet-ts'],
    ],
    forget: [],
  },
};

export function registerInstallService(program: Command, deps: CommandDeps): void {
  addServiceOptions(program.command('install-service'), 'print the file, and change nothing')
    .description('Install a service that runs kubelet-ts at boot')
    .argument('[arguments...]', 'arguments of run, after -- (default: /etc/kubernetes/manifests)')
    .option('--program <path>', 'program that the service runs', ownProgram())
    .addHelpText('after', examples)
    .action(async (words: string[], flags: InstallFlags) => {
      refuseSecrets(words);
      const service = services[flags.init ?? (await initOfMachine())];
      const text = service.text(flags.program, words.length === 0 ? ['/etc/kubernetes/manifests'] : words);
      deps.stdout.write(flags.dryRun === true ? text : await install(service, text));
    });
}

export function registerUninstallService(program: Command, deps: CommandDeps): void {
  addServiceOptions(program.command('uninstall-service'), 'print the commands, and change nothing')
    .description('Stop and remove the service. Pods keep running, and all data stays')
    .action(async (flags: ServiceFlags) => {
      const service = services[flags.init ?? (await initOfMachine())];
      deps.stdout.write(flags.dryRun === true ? uninstallText(service) : await uninstall(service));
    });
}

const addServiceOptions = (command: Command, dryRun: string): Command =>
  command
    .option('--dry-run', dryRun)
    .addOption(
      new Option('--init <system>', 'init system (default: that of this machine)').choices(['systemd', 'openrc']),
    );

const examples = `
Examples:
  kubelet-ts install-service                               runs the pods of /etc/kubernetes/manifests
  kubelet-ts install-service -- /srv/pods --max-pods 20    the same with other arguments of run
  kubelet-ts install-service --dry-run                     prints the unit

The service does not start before the next boot, or before systemctl start kubelet-ts.`;

/** The executable, or the script that Node runs. */
const ownProgram = (): string => (isSea() ? process.execPath : (process.argv[1] ?? 'kubelet-ts'));

/** Every user of a machine can read the command line of a service. */
function refuseSecrets(words: readonly string[]): void {
  const shown = shownArguments(words);
  if (words.every((word, index) => word === shown[index])) return;
  throw new UserError('the arguments hold a secret, which every user of this machine could read in the service', {
    hint: 'Put it into the configuration that --config names, and make that file readable for root alone.',
  });
}

async function initOfMachine(): Promise<Init> {
  if (await exists('/run/systemd/system')) return 'systemd';
  if (await exists('/run/openrc')) return 'openrc';
  throw new UserError('neither systemd nor OpenRC runs on this machine', {
    hint: 'Name one with --init. With --dry-run its file is printed.',
  });
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Returns the text for the user. Rejects with a `UserError` if a command of the init system fails. */
async function install({ file, mode, enable, start }: Service, text: string): Promise<string> {
  await writeFileAtomic(file, text, mode);
  for (const words of enable) await execute(words);
  return `wrote ${file}\nstart it now: ${start}\n`;
}

async function uninstall({ file, disable, forget }: Service): Promise<string> {
  if (!(await exists(file))) return `no service is installed: there is no ${file}\n`;
  for (const words of disable) await execute(words);
  await rm(file, { force: true });
  for (const words of forget) await execute(words);
  return `removed ${file}. Pods keep running; kubelet-ts down ends them\n`;
}

const uninstallText = ({ file, disable, forget }: Service): string =>
  [...disable, ['rm', file], ...forget].map((words) => `${words.join(' ')}\n`).join('');

async function execute([command = '', ...words]: readonly string[]): Promise<void> {
  const { execa } = await import('execa');
  const { failed, stderr } = await execa(command, words, { reject: false, timeout: 120_000, stdin: 'ignore' });
  if (!failed) return;
  const why = stderr === '' ? '' : `: ${stderr}`;
  throw new UserError(`${[command, ...words].join(' ')} failed${why}`, {
    hint: 'Repeat the command when that is mended.',
  });
}
