import { lstat, realpath, writeFile } from 'node:fs/promises';
import { hasCode, UserError } from '../../errors.ts';
import { writeFailure } from '../../files/file-failure.ts';
import type { PodResult } from '../../node/run-once/pod-result.ts';
import { replaceFile } from '../../files/write-file-atomic.ts';
import { junitFailureText, junitText } from './junit-text.ts';

/** The file of `--junit`. A reader sees a whole report at any time, even after a crash. */
export interface JunitReport {
  write(results: readonly PodResult[], now: number): Promise<void>;
  /** Reports a run that failed with an error. Results that were already written stay. */
  fail(error: unknown, now: number): Promise<void>;
}

const unfinished = new Error('the run was killed before it finished');

/**
 * Opens the report before the run, so that an invalid path fails early. Until results are written, it contains the
 * error that the run was killed. Throws a `UserError` for a path that cannot be written.
 */
export async function openJunitReport(path: string, startedAtMs: number): Promise<JunitReport> {
  const refuse = refusalOf(path);
  const target = await targetOf(path).catch(refuse);
  // A device or a pipe can be written only once.
  if (target.isFile)
    await replace(target.path, junitFailureText(unfinished, { startedAtMs, now: startedAtMs })).catch(refuse);
  const write = (text: string): Promise<void> =>
    target.isFile ? replace(target.path, text) : writeFile(target.path, text);
  let hasResults = false;
  return {
    write: async (results, now) => {
      await write(junitText(results, { startedAtMs, now }));
      hasResults = true;
    },
    fail: async (error, now) => {
      if (!hasResults) await write(junitFailureText(error, { startedAtMs, now }));
    },
  };
}

const refusalOf =
  (path: string) =>
  (cause: unknown): never => {
    const hint = 'Name a file in a folder that exists.';
    throw new UserError(`--junit: ${path}: ${writeFailure(path, cause)}`, { hint, cause });
  };

/** The file behind links, so that a link stays. `isFile` is also true for a missing path. */
async function targetOf(path: string): Promise<{ path: string; isFile: boolean }> {
  try {
    const target = await realpath(path);
    const stats = await lstat(target);
    if (stats.isDirectory()) throw new Error('it is a folder');
    return { path: target, isFile: stats.isFile() };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { path, isFile: true };
    throw error;
  }
}

/** Replaces the file atomically. A mounted file cannot be replaced, so it is written in place. */
async function replace(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, Buffer.from(text), { mode: 0o644, isDurable: false });
  } catch (error) {
    if (!hasCode(error, 'EBUSY')) throw error;
    await writeFile(path, text);
  }
}
