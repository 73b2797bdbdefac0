import { debugVariable, failureText, toldFailure } from './told-failure.ts';

/** Runs the command line; resolves to the exit code. Says in a sentence what went wrong, without a stack. Never rejects. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    const { runProgram } = await import('./commands/program.ts');
    return await runProgram(argv);
  } catch (error) {
    process.stderr.write(told(error));
    return failureExitCode(argv, error);
  }
}

/** Of `diff` 1 is an answer: changes. Whatever goes wrong must not look like it. */
function failureExitCode(argv: readonly string[], error: unknown): number {
  return argv[2] === 'diff' ? 2 : toldFailure(error).exitCode;
}

/** For an error that nobody caught. */
export function told(error: unknown): string {
  return failureText(error, { debug: process.env[debugVariable] === '1' });
}
