import { ownWords } from './commands/habits/command-first.ts';
import { runProgram } from './commands/program.ts';
import { endWithScreen } from './commands/run/end-with-screen.ts';
import { outputGuard } from './commands/run-once/github-guard.ts';
import { debugVariable, failureText, describeFailure } from './failure-text.ts';

/** Runs the command line and resolves to the exit code. Prints errors as a sentence, without a stack. Never rejects. */
export async function main(given: readonly string[]): Promise<number> {
  const argv = [...given.slice(0, 2), ...ownWords(given.slice(2))];
  try {
    endWithScreen(process.env);
    return await runProgram(argv);
  } catch (error) {
    process.stderr.write(uncaughtErrorText(error));
    return failureExitCode(argv, error);
  }
}

/** Exit code of a failure. For `diff`, 1 means changes, so a failure gets another code. */
function failureExitCode(argv: readonly string[], error: unknown): number {
  return argv[2] === 'diff' ? 2 : describeFailure(error).exitCode;
}

/** The text for an uncaught error. */
export function uncaughtErrorText(error: unknown): string {
  const { NO_COLOR = '', TERM } = process.env;
  const isColoured = process.stderr.isTTY && NO_COLOR === '' && TERM !== 'dumb';
  const text = failureText(error, { debug: process.env[debugVariable] === '1', isColoured });
  return outputGuard(process.env)?.text(text) ?? text;
}
