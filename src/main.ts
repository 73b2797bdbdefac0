import { basename } from 'node:path';
import { ownArgs } from './commands/habits/command-first.ts';
import { endFileCalls } from './process/end-file-calls.ts';
import { errorMessage } from './errors.ts';

/** Exit codes of an interrupted `run-once`, which must exit even if nobody reads its output. */
const interruptedCodes = [124, 130];
const lastWriteMs = 5000;

/**
 * The arguments as the commands parse them. If the program is called `kubelet`, flags without a command belong to
 * `run`.
 */
function parsedArguments([node = '', program = '', ...args]: readonly string[]): string[] {
  const isKubelet = basename(program) === 'kubelet' && !/^[^-]/.test(args[0] ?? '');
  return [node, program, ...ownArgs([...(isKubelet ? ['run'] : []), ...args])];
}

/** Exits once all output is written. May cut calls to the runtime that are in flight. */
async function exit(exitCode: number): Promise<void> {
  if (argv[2] === 'run-once' && interruptedCodes.includes(exitCode)) {
    setTimeout(() => process.exit(exitCode), lastWriteMs);
  }
  const written = (stream: NodeJS.WriteStream): Promise<unknown> => new Promise((done) => stream.write('', done));
  await Promise.all([written(process.stdout), written(process.stderr)]);
  await endFileCalls();
  process.exit(exitCode === 0 && hasLostOutput ? failedCode : exitCode);
}

/** Loads the commands here: without free descriptors that fails too, and must exit with the code of a failure. */
async function run(): Promise<number> {
  const loaded = await import('./commands/command-line.ts');
  errorText = loaded.uncaughtErrorText;
  return loaded.runCommandLine(argv, failedCode);
}

function fail(error: unknown): void {
  process.stderr.write(errorText(error));
  void exit(failedCode);
}

const argv = parsedArguments(process.argv);
/** For `diff`, 1 means that there are changes, so its failures have another code. */
const failedCode = argv[2] === 'diff' ? 2 : 1;
let errorText = (error: unknown): string => `error: ${errorMessage(error)}\n`;
let hasLostOutput = false;

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A closed pipe is not an error: `head` closes it when it has enough.
  if (error.code === 'EPIPE') return;
  process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
  hasLostOutput = true;
});
// Errors of stderr cannot be reported.
process.stderr.on('error', () => undefined);
// Reports uncaught errors like other failures. The agent handles its own while it runs.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return;
  fail(error);
});

// A command that waits for something that can no longer happen exits here. Node would exit with 0.
process.once('beforeExit', () => {
  process.stderr.write(
    'error: this is a bug in kubelet-ts: the command stopped before it was done\n' +
      'hint: Report it, with the command and what it printed. What it began may be incomplete.\n',
  );
  void exit(failedCode);
});

run().then(exit, fail);
