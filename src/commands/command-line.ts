import { debugVariable, describeFailure, failureText } from '../failure-text.ts';
import { runProgram } from './program.ts';
import { endWithScreen } from './run/end-with-screen.ts';
import { outputGuard } from './run-once/github-guard.ts';

/** Runs a command line. Resolves with its exit code. Prints an error as a sentence, without a stack. Never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    endWithScreen(process.env);
    return await runProgram(argv);
  } catch (error) {
    process.stderr.write(uncaughtErrorText(error));
    return failedCode(argv) === 1 ? describeFailure(error).exitCode : failedCode(argv);
  }
}

/** The exit code of a failure. 1 means changes for `diff`, so its failures have another code. */
export const failedCode = (argv: readonly string[]): number => (argv[2] === 'diff' ? 2 : 1);

/** The text for an uncaught error. */
export function uncaughtErrorText(error: unknown): string {
  const { NO_COLOR = '', TERM } = process.env;
  const isColoured = process.stderr.isTTY && NO_COLOR === '' && TERM !== 'dumb';
  const text = failureText(error, { debug: process.env[debugVariable] === '1', isColoured });
  return outputGuard(process.env)?.text(text) ?? text;
}
