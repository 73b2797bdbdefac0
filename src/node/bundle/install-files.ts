import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemClock } from '../../clock.ts';
import { boundedOutput } from '../../engine/host/bounded-program.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { readFailure, writeFailure } from '../../files/file-failure.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { syncFolder } from '../../files/write-file-atomic.ts';
import { bundleNames, sumsName } from './bundled-programs.ts';
import { copyFileDurably } from './copy-file.ts';

/** A file of a bundle, and where it goes. */
export interface InstalledFile {
  /** Its path in the bundle. */
  name: string;
  sha256: string;
  target: string;
  mode: number;
  /** True for a program that must answer `--version` here before anything is installed. */
  isTried: boolean;
}

/** Bounds of a list of checksums: some hundred files. */
const maxSumsBytes = 64 * 1024;
const trialMs = 120_000;
const maxOutputBytes = 64 * 1024;

/** Returns the files of a bundle by name, with their SHA-256. Rejects with a `UserError` if it is no whole bundle. */
export async function readSums(folder: string): Promise<Map<string, string>> {
  const path = join(folder, sumsName);
  let text: string;
  try {
    text = (await readRegularFile(path, maxSumsBytes)).toString('utf8');
  } catch (error) {
    throw damaged(`${path}: ${readFailure(error)}`);
  }
  const lines = text.split('\n').slice(0, -1);
  const sums = lines.flatMap((line): [string, string][] => {
    const [, sha256 = '', name = ''] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
    return bundleNames.test(name) ? [[name, sha256]] : [];
  });
  if (lines.length === 0 || !text.endsWith('\n') || sums.length < lines.length) throw damaged(`${path} is cut off`);
  return new Map(sums);
}

const damaged = (message: string): UserError =>
  new UserError(`the bundle is not complete: ${message}`, {
    hint: 'Copy it again, or write it again: kubelet-ts images bundle --with-programs. Nothing was installed.',
  });

/**
 * Copies the files of a bundle next to their targets, verifies and tries them, and then renames them all. Rejects with
 * a `UserError`. If a rename fails, the files before it are installed, and the error names them.
 */
export async function installFiles(folder: string, files: readonly InstalledFile[]): Promise<void> {
  const nextOf = ({ target }: InstalledFile): string => `${target}.next`;
  const installed: string[] = [];
  try {
    for (const file of files) {
      await makeFolder(dirname(file.target), 0o755);
      const actual = await copyFileDurably(join(folder, file.name), nextOf(file), file.mode);
      if (actual !== file.sha256) throw damaged(`the SHA-256 of ${file.name} is ${actual}, not ${file.sha256}`);
    }
    for (const file of files.filter(({ isTried }) => isTried)) await tryProgram(file.name, nextOf(file));
    for (const file of files) {
      await rename(nextOf(file), file.target);
      installed.push(file.target);
    }
    for (const target of new Set(files.map((file) => dirname(file.target)))) await syncFolder(target);
  } catch (error) {
    for (const file of files) await rm(nextOf(file), { force: true }).catch(() => undefined);
    throw asUserError(error, folder, installed);
  }
}

async function tryProgram(name: string, path: string): Promise<void> {
  const bounds = { clock: systemClock, timeoutMs: trialMs, maxOutputBytes, tooLong: 'it prints too much' };
  try {
    await boundedOutput(path, ['--version'], { ...bounds, quotesErrors: true });
  } catch (error) {
    throw new UserError(`${name} of the bundle does not run on this machine: ${errorMessage(error).trim()}`, {
      hint: 'Write the bundle on a machine with the same processor and libc. Nothing was installed.',
    });
  }
}

function asUserError(error: unknown, folder: string, installed: readonly string[]): UserError {
  if (error instanceof UserError) return error;
  const named = error instanceof Error && ('dest' in error ? error.dest : 'path' in error ? error.path : undefined);
  const path = typeof named === 'string' ? named : folder;
  if (path.startsWith(`${folder}/`)) return damaged(`${path}: ${readFailure(error)}`);
  const done = installed.length === 0 ? 'Nothing was installed.' : `Already installed: ${installed.join(', ')}`;
  return new UserError(`${path} cannot be written: ${writeFailure(path, error)}`, {
    hint: `Make room, or make it writable, then run the command again. ${done}`,
    cause: error,
  });
}
