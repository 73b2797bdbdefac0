import { inspect } from 'node:util';
import { RpcError } from './cri/errors.ts';
import { UserError } from './errors.ts';
import { visible, visibleLines } from './visible-text.ts';

/** Runs the command line; resolves to the exit code. Mistakes of the user and refusals of the runtime are told without a stack. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    const { runProgram } = await import('./commands/program.ts');
    return await runProgram(argv);
  } catch (error) {
    if (error instanceof RpcError) {
      process.stderr.write(`error: the container runtime says to ${error.method}: ${visible(error.message)}\n`);
      return 1;
    }
    if (!(error instanceof UserError)) {
      // A bug. Left to Node, it would print the line of the bundle that it is in, which is all of it.
      process.stderr.write(`${inspect(error)}\n`);
      return 1;
    }
    process.stderr.write(`error: ${visibleLines(error.message)}\n`);
    if (error.hint !== undefined) process.stderr.write(`hint: ${visibleLines(error.hint)}\n`);
    return error.exitCode;
  }
}
