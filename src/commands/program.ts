import { Command, CommanderError } from 'commander';
import packageJSON from '../../package.json' with { type: 'json' };
import { deniedToUser } from '../needs-root.ts';
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
  images: {
    summary: 'List images, and load them from archives',
    load: async () => (await import('./images.ts')).registerImages,
  },
  down: { summary: 'Stop kubelet-ts and remove its pods', load: async () => (await import('./down.ts')).registerDown },
};

/** Runs one command line. Resolves with its exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  hideSecretArguments(argv);
  let exitCode = 0;
  const deps: CommandDeps = {
    connect: async (options) => (await import('../node/runtime-connection.ts')).connectToRuntime(options),
    stdin: process.stdin,
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
  const named = argv.slice(2).filter((word) => !word.startsWith('-'));
  const word = named[0] === 'help' ? named[1] : named[0];
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
