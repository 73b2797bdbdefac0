import { Command, CommanderError } from 'commander';
import packageJSON from '../../package.json' with { type: 'json' };
import { deniedToUser } from '../needs-root.ts';
import { visible } from '../visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { referenceVersion } from '../node/options/flags.ts';
import { hideSecretArguments } from './hide-secret-arguments.ts';

interface CommandEntry {
  summary: string;
  load: () => Promise<(program: Command, deps: CommandDeps) => void>;
}

/** All commands in the order of the help. Only the used one is loaded. */
const commands: Record<string, CommandEntry> = {
  run: { summary: 'Run the pods of manifests until stopped', load: async () => (await import('./run.ts')).registerRun },
  'run-once': {
    summary: 'Run pods once and exit with their result',
    load: async () => (await import('./run-once.ts')).registerRunOnce,
  },
  validate: {
    summary: 'Report the errors of manifests',
    load: async () => (await import('./validate.ts')).registerValidate,
  },
  diff: {
    summary: 'Report the changes that manifests would make on this node',
    load: async () => (await import('./diff.ts')).registerDiff,
  },
  wait: {
    summary: 'Wait until pods are Ready, completed, updated or deleted',
    load: async () => (await import('./wait.ts')).registerWait,
  },
  ps: { summary: 'List the pods of this node', load: async () => (await import('./ps.ts')).registerPs },
  ui: { summary: 'Show the screen of a running kubelet-ts', load: async () => (await import('./ui.ts')).registerUI },
  top: {
    summary: 'Show the CPU and memory that pods or the node use',
    load: async () => (await import('./top.ts')).registerTop,
  },
  describe: { summary: 'Show a pod and its past', load: async () => (await import('./describe.ts')).registerDescribe },
  explain: {
    summary: 'Explain why a pod is not Ready, and what to do',
    load: async () => (await import('./explain.ts')).registerExplain,
  },
  logs: { summary: 'Print the logs of a pod', load: async () => (await import('./logs.ts')).registerLogs },
  exec: { summary: 'Run a command in a container', load: async () => (await import('./exec.ts')).registerExec },
  attach: {
    summary: 'Show the output of a running container, and type into it',
    load: async () => (await import('./attach.ts')).registerAttach,
  },
  debug: {
    summary: 'Run a further container in a running pod',
    load: async () => (await import('./debug.ts')).registerDebug,
  },
  cp: {
    summary: 'Copy files and folders into a container or out of it',
    load: async () => (await import('./cp.ts')).registerCp,
  },
  'port-forward': {
    summary: 'Forward local ports to ports of a pod',
    load: async () => (await import('./port-forward.ts')).registerPortForward,
  },
  checkpoint: {
    summary: 'Write the state of a running container into an archive',
    load: async () => (await import('./checkpoint.ts')).registerCheckpoint,
  },
  events: { summary: 'List the events of pods', load: async () => (await import('./events.ts')).registerEvents },
  apply: {
    summary: 'Run the pods of manifests from now on',
    load: async () => (await import('./apply.ts')).registerApply,
  },
  delete: {
    summary: 'Remove applied objects, and end their pods',
    load: async () => (await import('./delete.ts')).registerDelete,
  },
  restart: {
    summary: 'Restart the containers of pods',
    load: async () => (await import('./operate.ts')).registerOperation('restart'),
  },
  stop: {
    summary: 'Stop pods until they are started',
    load: async () => (await import('./operate.ts')).registerOperation('stop'),
  },
  start: { summary: 'Start stopped pods', load: async () => (await import('./operate.ts')).registerOperation('start') },
  retry: {
    summary: 'Try failing pods now',
    load: async () => (await import('./operate.ts')).registerOperation('retry'),
  },
  hold: {
    summary: 'Keep pods from updates',
    load: async () => (await import('./operate.ts')).registerOperation('hold'),
  },
  unhold: {
    summary: 'Let pods follow their manifest again',
    load: async () => (await import('./operate.ts')).registerOperation('unhold'),
  },
  rollback: {
    summary: 'Run an earlier revision of a pod',
    load: async () => (await import('./operate.ts')).registerOperation('rollback'),
  },
  history: { summary: 'List the revisions of a pod', load: async () => (await import('./history.ts')).registerHistory },
  images: {
    summary: 'List, pull, load, bundle, tag and remove images',
    load: async () => (await import('./images.ts')).registerImages,
  },
  down: { summary: 'Stop kubelet-ts and remove its pods', load: async () => (await import('./down.ts')).registerDown },
  doctor: {
    summary: 'Examine this machine, and show how to mend it',
    load: async () => (await import('./doctor.ts')).registerDoctor,
  },
  'support-bundle': {
    summary: 'Write an archive for a bug report, without secrets',
    load: async () => (await import('./support-bundle.ts')).registerSupportBundle,
  },
  'install-service': {
    summary: 'Install a service that runs kubelet-ts at boot',
    load: async () => (await import('./install-service.ts')).registerInstallService,
  },
  'uninstall-service': {
    summary: 'Stop and remove the service',
    load: async () => (await import('./install-service.ts')).registerUninstallService,
  },
  completion: {
    summary: 'Print the completion script of a shell',
    load: async () => (await import('./completion.ts')).registerCompletion,
  },
};

/** Runs one command line. Resolves with its exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  hideSecretArguments(argv);
  let exitCode = 0;
  const deps: CommandDeps = {
    connect: async (options) => (await import('../node/runtime-connection.ts')).connectToRuntime(options),
    // Made by Node when it is read, which takes 2 ms.
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
    .exitOverride();
  if (argv[2] === completeCommand) return printCandidates(argv.slice(3), deps);
  if (argv[2] === manCommand) return printManPage(program, argv.slice(3), deps);
  const named = argv.slice(2).filter((word) => !word.startsWith('-'));
  const word = named[0] === 'help' ? named[1] : named[0];
  if (argv[2] === named[0]) await refuseUnknown(word);
  const wanted = aliases[word ?? ''] ?? word ?? '';
  // Only help and mistakes need the others.
  const isAlone = argv[2] === word && wanted in commands;
  for (const [name, { summary, load }] of Object.entries(commands)) {
    if (name === wanted) (await load())(program, deps);
    else if (!isAlone) program.command(name).description(summary);
  }
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw deniedToUser(error) ?? error;
  }
}

const aliases: Record<string, string> = { get: 'ps' };

/** The hidden command of the completion scripts. It is not parsed, because its words may be unfinished. */
const completeCommand = '__complete';

async function printCandidates(words: readonly string[], deps: CommandDeps): Promise<number> {
  const { completionText } = await import('./completion/complete.ts');
  const text = await completionText(words, {
    commands: Object.entries(commands).map(([word, { summary: description }]) => ({ word, description })),
    load: async (name) => {
      const program = new Command();
      const canonical = aliases[name] ?? name;
      (await commands[canonical]?.load())?.(program, deps);
      return program.commands.find((command) => command.name() === canonical);
    },
  });
  deps.stdout.write(text);
  return 0;
}

/** The hidden command that packages use: prints the page of a command, or the names of all pages. */
const manCommand = '__man';

async function printManPage(program: Command, words: readonly string[], deps: CommandDeps): Promise<number> {
  const { manPage, pageNames } = await import('./man/man-page.ts');
  for (const { load } of Object.values(commands)) (await load())(program, deps);
  if (words[0] === '--names') deps.stdout.write(`${pageNames(program).join('\n')}\n`);
  else {
    const find = (parent: Command, name: string): Command =>
      parent.commands.find((candidate) => candidate.name() === name) ?? parent;
    const name = ['kubelet-ts', ...words].join(' ');
    deps.stdout.write(manPage(words.reduce(find, program), { name, version: packageJSON.version }));
  }
  return 0;
}

/** Rejects with a `UserError` for a command that does not exist, with the one that is meant. */
async function refuseUnknown(name: string | undefined): Promise<void> {
  if (name === undefined || name === 'help' || Object.hasOwn(commands, aliases[name] ?? name)) return;
  const [{ UserError }, { nearestName }] = await Promise.all([
    import('../errors.ts'),
    import('../api/text/nearest-name.ts'),
  ]);
  const meant = Object.hasOwn(meanings, name) ? meanings[name] : nearestName(name, Object.keys(commands));
  throw new UserError(`there is no command "${visible(name)}"`, {
    hint: meant === undefined ? 'kubelet-ts --help lists all commands.' : `Did you mean kubelet-ts ${meant}?`,
  });
}

/** Commands of other programs, and ours for the same task. */
const meanings: Readonly<Record<string, string>> = {
  pods: 'ps',
  pod: 'ps',
  po: 'ps',
  ls: 'ps',
  list: 'ps',
  status: 'ps',
  inspect: 'describe',
  why: 'explain',
  sh: 'exec',
  shell: 'exec',
  stats: 'top',
  screen: 'ui',
  tui: 'ui',
  up: 'run',
  play: 'run',
  lint: 'validate',
  check: 'validate',
  pull: 'images pull',
  load: 'images load',
  prune: 'images prune',
  tag: 'images tag',
};
