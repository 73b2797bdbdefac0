import { maxProblemLines, readLastLines } from './containerd-log.ts';
import { managedPaths } from './managed-paths.ts';
import { DamagedStoreError, findStartProblem, remedyFor } from './start-problem.ts';

/**
 * Returns why the managed containerd of this root-dir, which does not answer, could not read its store when it was last
 * launched. Returns undefined if its log does not say so.
 */
export async function readStoreDamage(rootDir: string): Promise<DamagedStoreError | undefined> {
  const lines = await readLastLines(managedPaths(rootDir).logFile, { lines: maxProblemLines }).catch(() => []);
  // Other messages may be about what clients did, such as a pull that broke off.
  const problem = findStartProblem(
    lines.filter((line) => !line.includes(' msg=') || line.includes('failed to load plugin')),
  );
  if (problem?.kind !== 'damaged store') return undefined;
  const message = `The managed containerd does not run, because its store is damaged: ${problem.line}`;
  return new DamagedStoreError(message, { hint: remedyFor(problem, rootDir) });
}
