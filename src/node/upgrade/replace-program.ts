import { link, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UserError } from '../../errors.ts';
import { writeFailure } from '../../files/file-failure.ts';
import { pathExists } from '../../files/path-exists.ts';
import { removeTemporary, replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import { clearUpgradeState, markText, programFiles, readUpgradeState, trialStarts } from './program-files.ts';

const executable = 0o755;

/** Writes a new program next to the one that it may replace. Rejects with a `UserError`, and then leaves no file. */
export async function writeNext(program: string, content: Buffer): Promise<void> {
  const { next } = programFiles(program);
  const work = async (): Promise<void> => {
    // What a killed upgrade left takes room.
    await rm(next, { force: true });
    await removeTemporary(next);
    await replaceFile(next, content, { mode: executable });
  };
  await explainWrites(next, work());
}

/**
 * Keeps the old program, marks the new one as not yet healthy, and lets it replace the old one. Returns the version
 * that is kept: an old program that never became healthy is not worth going back to, so the one before it stays. After
 * a power cut at any step, one of the two is there, and what is left over does no harm. Rejects with a `UserError`, or
 * with the signal's reason if it is aborted before, and then leaves no new program.
 */
export async function replaceProgram(
  program: string,
  version: string,
  to: string,
  signal: AbortSignal,
): Promise<string> {
  const { next, previous, pending } = programFiles(program);
  const work = async (): Promise<string> => {
    const state = await readUpgradeState(program);
    const isOnTrial = state?.kind === 'pending' && (await pathExists(previous));
    const from = isOnTrial ? state.from : version;
    if (!isOnTrial) {
      await rm(previous, { force: true });
      await link(program, previous);
    }
    // Before the mark of an earlier upgrade is removed, which may still have to restore its program.
    const mark = pending(trialStarts);
    await replaceFile(mark, Buffer.from(markText(from, to)), { mode: 0o644 });
    await clearUpgradeState(program, mark);
    try {
      await rename(next, program);
    } catch (error) {
      if (!isOnTrial) await clearUpgradeState(program);
      throw error;
    }
    await syncFolder(dirname(program));
    return from;
  };
  try {
    signal.throwIfAborted();
    return await explainWrites(program, work());
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

async function explainWrites<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new UserError(`${path} cannot be written: ${writeFailure(path, error)}`, {
      hint: `The program that runs now stays. Make room, or make ${dirname(path)} writable, then run the command again.`,
      cause: error,
    });
  }
}
