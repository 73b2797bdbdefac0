import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { pathExists } from '../../src/files/path-exists.ts';
import { program, repository } from './program.ts';

// Beside the built program, whose folder is that of one state of the sources.
export const executable = join(dirname(program), '../executable/kubelet-ts');

/** Makes the executable, once for each state of the sources. */
export async function buildExecutable(): Promise<void> {
  if (!(await pathExists(executable))) await callPackaging('executable.mjs', 'makeExecutable', executable);
}

/** Calls a function of the scripts that make packages. */
export async function callPackaging(module: string, name: string, ...words: string[]): Promise<void> {
  const path = JSON.stringify(join(repository, 'scripts/package', module));
  const script = `(await import(${path})).${name}(...${JSON.stringify(words)})`;
  await execa('node', ['--input-type=module', '-e', script], { cwd: repository });
}
