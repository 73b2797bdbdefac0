import { debugVariable, describeFailure, failureText } from '../node/failure-text.ts';
import { runProgram } from './program.ts';
import { stopWithScreen } from './run/stop-with-screen.ts';
import { outputGuard } from './run-once/github-guard.ts';

/**
 * Runs a command line. Resolves with its exit code, which is `failedCode` after most errors. Prints an error as a
 * sentence, without a stack. Never rejects.
 */
export async function runCommandLine(argv: readonly string[], failedCode: number): Promise<number> {
  try {
    stopWithScreen(process.env);
    return await runProgram(argv);
  } catch (error) {
    process.stderr.write(uncaughtErrorText(error));
    return failedCode === 1 ? describeFailure(error).exitCode : failedCode;
  }
}

/** The text for an uncaught error. */
export function uncaughtErrorText(error: unknown): string {
  const { NO_COLOR = '', TERM } = process.env;
  const isColoured = process.stderr.isTTY && NO_COLOR === '' && TERM !== 'dumb';
  const text = failureText(error, { debug: process.env[debugVariable] === '1', isColoured });
  return outputGuard(process.env)?.text(text) ?? text;
}
