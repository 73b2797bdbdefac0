import { Command, CommanderError } from 'commander';
import packageJSON from '../../package.json' with { type: 'json' };
import type { OperationAction } from '../engine/operations/operation.ts';
import { deniedToUser } from '../process/needs-root.ts';
import { refuseForeignRootDir } from '../files/own-paths.ts';
import { visible, visibleLines } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { referenceVersion } from '../node/options/flags.ts';
import { hideSecretArguments } from './hide-secret-arguments.ts';

type Register = (program: Command, deps: CommandDeps) => void;

interface CommandEntry {
  summary: string;
  load: () => Promise<{ register: Register }>;
}

const operation = (action: OperationAction) => async () => ({
  register: (await import('./operate.ts')).registerOperation(action),
});

/** All commands in the order of the help. Loads only the command that is used. */
const commands: Record<string, CommandEntry> = {
  run: { summary: 'Run the pods of manifests until stopped', load: () => import('./run.ts') },
  'run-once': { summary: 'Run pods once and exit with their result', load: () => import('./run-once.ts') },
  validate: { summary: 'Report the errors of manifests', load: () => import('./validate.ts') },
  diff: { summary: 'Report the changes that manifests would make on this node', load: () => import('./diff.ts') },
  wait: { summary: 'Wait until pods are Ready, completed, updated or deleted', load: () => import('./wait.ts') },
  ps: { summary: 'List the pods of this node', load: () => import('./ps.ts') },
  ui: { summary: 'Show the screen of a running kubelet-ts', load: () => import('./ui.ts') },
  top: { summary: 'Show the CPU and memory that pods or the node use', load: () => import('./top.ts') },
  describe: { summary: 'Show a pod, its events and past exits', load: () => import('./describe.ts') },
  explain: { summary: 'Explain why a pod is not Ready, and what to do', load: () => import('./explain.ts') },
  logs: { summary: 'Print the logs of a pod', load: () => import('./logs.ts') },
  exec: { summary: 'Run a command in a container', load: () => import('./exec.ts') },
  attach: { summary: 'Attach to a running container', load: () => import('./attach.ts') },
  debug: { summary: 'Add a debug container to a running pod', load: () => import('./debug.ts') },
  cp: { summary: 'Copy files and folders into a container or out of it', load: () => import('./cp.ts') },
  'port-forward': { summary: 'Forward local ports to ports of a pod', load: () => import('./port-forward.ts') },
  checkpoint: { summary: 'Save the state of a running container to an archive', load: () => import('./checkpoint.ts') },
  events: { summary: 'List the events of pods', load: () => import('./events.ts') },
  apply: { summary: 'Apply manifests; their pods also start at boot', load: () => import('./apply.ts') },
  delete: { summary: 'Delete applied objects and stop their pods', load: () => import('./delete.ts') },
  restart: { summary: 'Restart the containers of pods', load: operation('restart') },
  stop: { summary: 'Stop pods until you start them again', load: operation('stop') },
  start: { summary: 'Start stopped pods', load: operation('start') },
  retry: { summary: 'Retry failing pods now', load: operation('retry') },
  hold: { summary: 'Pin pods to their current revision', load: operation('hold') },
  unhold: { summary: 'Unpin pods, so that they follow their manifests again', load: operation('unhold') },
  rollback: { summary: 'Run an earlier revision of a pod', load: operation('rollback') },
  scale: { summary: 'Set the number of pods of a workload', load: () => import('./scale.ts') },
  rollout: { summary: 'Show and change the rollout of a workload', load: () => import('./rollout.ts') },
  history: { summary: 'List the revisions of a pod', load: () => import('./history.ts') },
  images: { summary: 'List, pull, load, bundle, tag, repair and remove images', load: () => import('./images.ts') },
  down: { summary: 'Stop kubelet-ts and remove its pods', load: () => import('./down.ts') },
  'repair-store': {
    summary: 'Replace a damaged store of the managed containerd',
    load: () => import('./repair-store.ts'),
  },
  doctor: { summary: 'Check this machine and suggest fixes', load: () => import('./doctor.ts') },
  version: { summary: 'Show the versions of client, agent and runtime', load: () => import('./version.ts') },
  'support-bundle': {
    summary: 'Write an archive for a bug report, without secrets',
    load: () => import('./support-bundle.ts'),
  },
  'install-service': {
    summary: 'Install a service that runs kubelet-ts at boot',
    load: () => import('./install-service.ts'),
  },
  'install-bundle': {
    summary: 'Install programs and images from a bundle, without a network',
    load: () => import('./install-bundle.ts'),
  },
  'uninstall-service': {
    summary: 'Stop and remove the service',
    load: async () => ({ register: (await import('./install-service.ts')).registerUninstall }),
  },
  licences: { summary: 'Print the licences of the software in this executable', load: () => import('./licences.ts') },
  upgrade: { summary: 'Replace this executable by another release', load: () => import('./upgrade.ts') },
  completion: { summary: 'Print a shell completion script', load: () => import('./completion.ts') },
};

/** Registers every command. */
export async function registerAll(program: Command, deps: CommandDeps): Promise<void> {
  for (const { load } of Object.values(commands)) (await load()).register(program, deps);
}

/** Runs one command line. Resolves with its exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  hideSecretArguments(argv);
  let exitCode = 0;
  const deps: CommandDeps = {
    connect: async (options) => (await import('../node/runtime-connection.ts')).connectToRuntime(options),
    // Node opens stdin when it is first read, which takes 2 ms.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  const program = new Command('kubelet-ts')
    .description(packageJSON.description)
    .version(`kubelet-ts ${packageJSON.version}, Kubernetes ${referenceVersion}`, '-V, --version')
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      outputError: (text, write) => {
        write(visibleLines(withHint(text)));
      },
    })
    .exitOverride()
    .hook('preAction', (_program, action) => {
      const { rootDir } = action.opts<{ rootDir?: string }>();
      // doctor reports it.
      if (rootDir !== undefined && action.name() !== 'doctor') refuseForeignRootDir(rootDir);
    });
  if (argv[2] === completeCommand) return printCandidates(argv.slice(3), deps);
  if (argv[2] === manCommand) return printManPage(program, argv.slice(3), deps);
  if (argv[2] === '__guard') return printGuard(deps);
  if (argv[2] === '__state') return printState(argv.slice(3), deps);
  const named = argv.slice(2).filter((word) => !word.startsWith('-'));
  const word = named[0] === 'help' ? named[1] : named[0];
  const typed = argv.slice(argv[2] === 'help' ? 3 : 2);
  if (typed.length > 0 && argv[2] === named[0]) await refuseForeign(typed);
  const wanted = aliases[word ?? ''] ?? word ?? '';
  // Only help and suggestions need the other commands.
  const isAlone = argv[2] === word && wanted in commands;
  for (const [name, { summary, load }] of Object.entries(commands)) {
    if (name === wanted) (await load()).register(program, deps);
    else if (!isAlone) program.command(name).description(summary);
  }
  try {
    await program.parseAsync(isGroup(program, argv.slice(2)) ? [...argv, '--help'] : argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw deniedToUser(error) ?? error;
  }
}

/** True for only the name of a group of commands, such as `images`, and for no arg at all. Both print help. */
function isGroup(program: Command, [name, ...more]: readonly string[]): boolean {
  const command = name === undefined ? program : program.commands.find((known) => known.name() === name);
  return more.length === 0 && command !== undefined && command.commands.length > 0;
}

/**
 * A mistake on a command line in the format of all errors, in the terms of the help, with its suggestion as the hint.
 */
const withHint = (text: string): string =>
  text
    .replace(
      /^(error: )command-argument value ('.*') is invalid for argument '(.*)'\./m,
      '$1argument $2 of <$3> is invalid.',
    )
    .replace(/^(error: unknown )option '(.*)'$/m, '$1flag: $2')
    .replace(/\((Did you mean )(?:one of )?(.*)\?\)/, (_, start: string, names: string) => {
      return `hint: ${start}${names.replaceAll(', ', ' or ')}?`;
    });

const aliases: Record<string, string> = { get: 'ps' };

/** The names of all commands. */
export const commandNames: readonly string[] = [...Object.keys(commands), ...Object.keys(aliases), 'help'];

/** The hidden command of the completion scripts. Its args are not parsed, because they may be incomplete. */
const completeCommand = '__complete';

async function printCandidates(args: readonly string[], deps: CommandDeps): Promise<number> {
  const { completionText } = await import('./completion/complete.ts');
  const text = await completionText(args, {
    commands: Object.entries(commands).map(([word, { summary: description }]) => ({ word, description })),
    load: async (name) => {
      const program = new Command();
      const canonical = aliases[name] ?? name;
      (await commands[canonical]?.load())?.register(program, deps);
      return program.commands.find((command) => command.name() === canonical);
    },
  });
  deps.stdout.write(text);
  return 0;
}

/** The hidden command that packages use: prints the man page of a command, or the names of all pages. */
const manCommand = '__man';

async function printManPage(program: Command, args: readonly string[], deps: CommandDeps): Promise<number> {
  const { manPage, pageNames } = await import('./man/man-page.ts');
  await registerAll(program, deps);
  if (args[0] === '--names') deps.stdout.write(`${pageNames(program).join('\n')}\n`);
  else {
    const find = (parent: Command, name: string): Command =>
      parent.commands.find((candidate) => candidate.name() === name) ?? parent;
    const name = ['kubelet-ts', ...args].join(' ');
    deps.stdout.write(manPage(args.reduce(find, program), { name, version: packageJSON.version }));
  }
  return 0;
}

/** The hidden command of packages: prints the guard that their services run. */
async function printGuard(deps: CommandDeps): Promise<number> {
  deps.stdout.write((await import('../node/upgrade/guard-script.ts')).guardScript);
  return 0;
}

/** The hidden command of `try-program.ts`: prints which state of these root-dirs this release reads. */
async function printState(rootDirs: readonly string[], deps: CommandDeps): Promise<number> {
  const { answerState } = await import('../node/upgrade/try-program.ts');
  rootDirs.forEach(refuseForeignRootDir);
  deps.stdout.write(`${JSON.stringify(await answerState(rootDirs))}\n`);
  return 0;
}

/** Rejects with a `UserError` for a command line of another program, or a mistyped one. */
async function refuseForeign(args: readonly string[]): Promise<void> {
  const [name = ''] = args;
  const isKnown = name === 'help' || Object.hasOwn(commands, aliases[name] ?? name);
  const [{ UserError }, { habitHint }] = await Promise.all([
    import('../errors.ts'),
    import('./habits/answer-habit.ts'),
  ]);
  const hint = habitHint(args, commandNames);
  if (hint === undefined) return;
  const message = isKnown ? `kubelet-ts ${name} does not have these flags` : `there is no command "${visible(name)}"`;
  throw new UserError(message, { hint });
}
