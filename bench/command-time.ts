import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endedChildrenCpuMs } from './process-usage.ts';

/** With the variable each Node reads all root certificates at its start, which takes longer than the rest. */
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };

/** Milliseconds from the start of a command to its exit. */
export async function commandMs(command: readonly string[]): Promise<number> {
  const from = performance.now();
  await run(command);
  return performance.now() - from;
}

/** Milliseconds of CPU of a command, in steps of ten. No other child may end meanwhile. */
export async function commandCpuMs(command: readonly string[]): Promise<number> {
  const before = await endedChildrenCpuMs();
  await run(command);
  return (await endedChildrenCpuMs()) - before;
}

async function run([program = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  if (exitCode !== 0) throw new Error(`${[program, ...args].join(' ')} failed`);
}
