import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endedChildrenCpuMs } from './process-usage.ts';

/** Milliseconds from the start of a Node with these arguments to its exit. */
export async function commandMs(args: readonly string[]): Promise<number> {
  const from = performance.now();
  await runNode(args);
  return performance.now() - from;
}

/** Milliseconds of CPU of a Node with these arguments, in steps of ten. No other child may end meanwhile. */
export async function commandCpuMs(args: readonly string[]): Promise<number> {
  const before = await endedChildrenCpuMs();
  await runNode(args);
  return (await endedChildrenCpuMs()) - before;
}

async function runNode(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  if (exitCode !== 0) throw new Error(`node ${args.join(' ')} failed`);
}
