import { resolve } from 'node:path';
import { execa } from 'execa';

/** Returns the paths of the bundle, which must be built, and of a new executable. */
export async function makePrograms(): Promise<Record<'bundle' | 'executable', string>> {
  const executable = resolve('.cache/bench/kubelet-ts');
  const make = `(await import('./scripts/package/executable.mjs')).makeExecutable(${JSON.stringify(executable)})`;
  await execa(process.execPath, ['--input-type=module', '-e', make]);
  return { bundle: resolve('bin/kubelet-ts'), executable };
}
