import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Milliseconds from the start of a Node with these arguments to its exit. */
export async function commandMs(args: readonly string[]): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  if (exitCode !== 0) throw new Error(`node ${args.join(' ')} failed`);
  return performance.now() - from;
}
