import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UserError } from '../src/errors.ts';
import { endedChildrenCpuMs } from './process-usage.ts';

/** With this variable, each Node reads all root certificates when it starts, which takes longer than the rest. */
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };

/** Returns the milliseconds from starting a command until it exits. */
export async function commandMs(command: readonly string[]): Promise<number> {
  const from = performance.now();
  await run(command);
  return performance.now() - from;
}

/** Returns a command's CPU in milliseconds, in steps of ten. No other child may exit in the meantime. */
export async function commandCpuMs(command: readonly string[]): Promise<number> {
  const before = await endedChildrenCpuMs();
  await run(command);
  return (await endedChildrenCpuMs()) - before;
}

async function run([program = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  if (exitCode !== 0) throw new UserError(`${[program, ...args].join(' ')} failed`);
}
